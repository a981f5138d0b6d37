/** Grid and channels in px: columns and rows as wide and as far apart as the lines between them need. */

import type { Grid } from "./grid";
import {
  ARC,
  ARC_STEP,
  type CardMetrics,
  GAP,
  GAP_MAX,
  GROUP_HEADER,
  GROUP_PAD,
  GUTTER,
  MARGIN,
  TRACK_STEP,
} from "./metrics";
import type { Piece } from "./pieces";
import type { Step } from "./routes";

/** What is known of a channel: how many lines lie side by side, and whether one of them drops onto a card below. */
export interface Channel {
  readonly tracks: number;
  readonly drops: boolean;
}

export type Channels = ReadonlyMap<string, Channel>;

export const keyOf = ({ axis, index, level }: Step): string => `${axis}${index}.${level}`;

export interface Frame {
  readonly width: number;
  readonly height: number;
  /** Left of each column, top of each row. */
  readonly x: readonly number[];
  readonly y: readonly number[];
  /** Place of a line in its channel: track 0 is the nearest to the row below (above, under the last row). */
  at(step: Step, track: number): number;
  /** Stretch that a channel takes up. */
  extent(step: Step): { readonly lo: number; readonly hi: number };
  box(piece: Piece): { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
}

interface Axis {
  readonly starts: readonly number[];
  readonly size: number;
}

/** A turn and an arrowhead beside the lines of a gap. */
const TURNS = 16;
const ARC_IN_GROUP = 14;
const ARC_OVER_GROUP = 10;
/** Room over the highest line of a gutter. */
const CLEAR = 14;

const most = (pieces: readonly Piece[], where: (piece: Piece) => boolean): number =>
  pieces.reduce((level, piece) => (where(piece) ? Math.max(level, piece.level) : level), 0);

/** `slack` is spread over the gaps between columns. */
export function makeFrame(
  grid: Grid,
  card: CardMetrics,
  pieces: readonly Piece[],
  channels: Channels,
  slack: number,
): Frame {
  const gaps = new Gaps(grid, pieces, channels, slack);
  const gutters = new Gutters(grid, pieces, channels);
  const horizontal = lay(grid.columns, card.width, (index) => gaps.size(index));
  const vertical = lay(grid.rows, card.height, (index) => gutters.size(index));
  const [x, y] = [horizontal.starts, vertical.starts];
  const end = (starts: readonly number[], index: number, size: number): number =>
    index === 0 ? 0 : starts[index - 1]! + size;
  return {
    width: horizontal.size,
    height: vertical.size,
    x,
    y,
    at(step, track) {
      if (step.axis === "v")
        return gaps.at(step.index, track, end(x, step.index, card.width), x[step.index] ?? horizontal.size);
      return gutters.at(step, track, end(y, step.index, card.height), y[step.index] ?? vertical.size);
    },
    extent(step) {
      const [starts, size, all] =
        step.axis === "v" ? [x, card.width, horizontal.size] : [y, card.height, vertical.size];
      return { lo: end(starts, step.index, size), hi: starts[step.index] ?? all };
    },
    box(piece) {
      const pad = piece.level * GROUP_PAD;
      const top = y[piece.top]! - gutters.stack(piece.top, piece.level);
      const left = x[piece.left]! - pad;
      return {
        x: left,
        y: top,
        width: x[piece.right]! + card.width + pad - left,
        height: y[piece.bottom]! + card.height + pad - top,
      };
    },
  };
}

function lay(count: number, size: number, before: (index: number) => number): Axis {
  const starts: number[] = [];
  let at = 0;
  for (let index = 0; index < count; index++) {
    at += before(index);
    starts.push(at);
    at += size;
  }
  return { starts, size: at + before(count) };
}

class Gaps {
  constructor(
    private readonly grid: Grid,
    private readonly pieces: readonly Piece[],
    private readonly channels: Channels,
    private readonly slack: number,
  ) {}

  private tracks(index: number): number {
    return this.channels.get(`v${index}.0`)?.tracks ?? 0;
  }

  /** Padding of the groups that end before and that start after the gap. */
  private pads(index: number): [number, number] {
    const before = most(this.pieces, (piece) => piece.right === index - 1);
    const after = most(this.pieces, (piece) => piece.left === index);
    return [before * GROUP_PAD, after * GROUP_PAD];
  }

  size(index: number): number {
    const tracks = this.tracks(index);
    const [before, after] = this.pads(index);
    if (index === 0 || index === this.grid.columns)
      return before + after + MARGIN + Math.max(0, tracks - 1) * TRACK_STEP;
    const lines = tracks > 0 ? TURNS + (tracks - 1) * TRACK_STEP : GAP / 2;
    const least = Math.max(GAP, before + after + lines);
    return Math.max(least, Math.min(least + this.slack, GAP_MAX));
  }

  at(index: number, track: number, start: number, end: number): number {
    const [before, after] = this.pads(index);
    if (index === 0) return end - after - MARGIN / 2 - track * TRACK_STEP;
    if (index === this.grid.columns) return start + before + MARGIN / 2 + track * TRACK_STEP;
    const middle = (start + before + end - after) / 2;
    const width = (Math.max(1, this.tracks(index)) - 1) * TRACK_STEP;
    // Off the middle: the arrowhead needs the room.
    return middle - 2 - width / 2 + track * TRACK_STEP;
  }
}

class Gutters {
  private readonly levels: number;

  constructor(
    private readonly grid: Grid,
    private readonly pieces: readonly Piece[],
    private readonly channels: Channels,
  ) {
    this.levels = most(pieces, () => true);
  }

  private channel(index: number, level: number): Channel {
    return this.channels.get(`h${index}.${level}`) ?? { tracks: 0, drops: false };
  }

  /** Height over a row of the frames of groups up to a level: each has its arcs inside and its name on top. */
  stack(row: number, level: number): number {
    const own = most(this.pieces, (piece) => piece.top === row);
    let height = 0;
    for (let inner = 1; inner <= Math.min(level, own); inner++) height += this.inside(row, inner) + GROUP_HEADER;
    return height;
  }

  private inside(row: number, level: number): number {
    const { tracks } = this.channel(row, level);
    return tracks > 0 ? ARC_IN_GROUP + (tracks - 1) * ARC_STEP + GROUP_PAD : 0;
  }

  private feet(index: number): number {
    return most(this.pieces, (piece) => piece.bottom === index - 1) * GROUP_PAD;
  }

  private first(index: number): number {
    if (index < this.grid.rows && this.stack(index, this.levels) > 0) return ARC_OVER_GROUP;
    return ARC;
  }

  size(index: number): number {
    const { tracks } = this.channel(index, 0);
    const frames = this.feet(index) + (index < this.grid.rows ? this.stack(index, this.levels) : 0);
    const lines = tracks > 0 ? this.first(index) + (tracks - 1) * ARC_STEP + CLEAR : 0;
    if (index === 0 || index === this.grid.rows) return frames + Math.max(MARGIN, lines);
    return Math.max(GUTTER, frames + lines, frames > 0 ? frames + MARGIN : 0);
  }

  at({ index, level }: Step, track: number, start: number, end: number): number {
    if (level > 0) return end - this.stack(index, level - 1) - ARC_IN_GROUP - track * ARC_STEP;
    const top = start + this.feet(index);
    if (index === this.grid.rows) return top + CLEAR + track * ARC_STEP;
    const bottom = end - this.stack(index, this.levels);
    const { tracks, drops } = this.channel(index, 0);
    if (!drops && index > 0) return (top + bottom) / 2 + ((tracks - 1) / 2 - track) * ARC_STEP;
    return bottom - this.first(index) - track * ARC_STEP;
  }
}
