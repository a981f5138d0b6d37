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
import { keyOf, type Step } from "./routes";

/** What is known of a channel: how many lines lie side by side, and whether one of them drops onto a card below. */
export interface Channel {
  readonly tracks: number;
  readonly drops: boolean;
}

export type Channels = ReadonlyMap<string, Channel>;

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

/** The highest level among the pieces at each place. */
function highest(pieces: readonly Piece[], count: number, placeOf: (piece: Piece) => number): number[] {
  const levels = new Array<number>(count).fill(0);
  for (const piece of pieces) levels[placeOf(piece)] = Math.max(levels[placeOf(piece)]!, piece.level);
  return levels;
}

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
  private readonly sizes: readonly number[];
  private readonly tracks: readonly number[];
  /** Padding of the groups that end before and that start after each gap. */
  private readonly before: readonly number[];
  private readonly after: readonly number[];

  constructor(
    private readonly grid: Grid,
    pieces: readonly Piece[],
    channels: Channels,
    slack: number,
  ) {
    const indices = Array.from({ length: grid.columns + 1 }, (_, index) => index);
    this.tracks = indices.map((index) => channels.get(keyOf({ axis: "v", index, level: 0 }))?.tracks ?? 0);
    this.before = highest(pieces, indices.length, (piece) => piece.right + 1).map((level) => level * GROUP_PAD);
    this.after = highest(pieces, indices.length, (piece) => piece.left).map((level) => level * GROUP_PAD);
    this.sizes = indices.map((index) => this.sizeOf(index, slack));
  }

  size(index: number): number {
    return this.sizes[index]!;
  }

  private sizeOf(index: number, slack: number): number {
    const tracks = this.tracks[index]!;
    const pads = this.before[index]! + this.after[index]!;
    if (index === 0 || index === this.grid.columns) return pads + MARGIN + Math.max(0, tracks - 1) * TRACK_STEP;
    const lines = tracks > 0 ? TURNS + (tracks - 1) * TRACK_STEP : GAP / 2;
    const least = Math.max(GAP, pads + lines);
    return Math.max(least, Math.min(least + slack, GAP_MAX));
  }

  at(index: number, track: number, start: number, end: number): number {
    const [before, after] = [this.before[index]!, this.after[index]!];
    if (index === 0) return end - after - MARGIN / 2 - track * TRACK_STEP;
    if (index === this.grid.columns) return start + before + MARGIN / 2 + track * TRACK_STEP;
    const middle = (start + before + end - after) / 2;
    const width = (Math.max(1, this.tracks[index]!) - 1) * TRACK_STEP;
    // Off the middle: the arrowhead needs the room.
    return middle - 2 - width / 2 + track * TRACK_STEP;
  }
}

class Gutters {
  private readonly sizes: readonly number[];
  private readonly channels: readonly Channel[];
  /** Under each row above, padding of the groups that end there. */
  private readonly feet: readonly number[];
  /** Over each row, by level: height of the frames up to it, each with its arcs inside and its name on top. */
  private readonly stacks: readonly (readonly number[])[];

  constructor(
    private readonly grid: Grid,
    pieces: readonly Piece[],
    channels: Channels,
  ) {
    const none = { tracks: 0, drops: false };
    const indices = Array.from({ length: grid.rows + 1 }, (_, index) => index);
    const levels = Math.max(0, ...pieces.map((piece) => piece.level));
    const channel = (index: number, level: number): Channel => channels.get(keyOf({ axis: "h", index, level })) ?? none;
    this.channels = indices.map((index) => channel(index, 0));
    this.feet = highest(pieces, indices.length, (piece) => piece.bottom + 1).map((level) => level * GROUP_PAD);
    const tops = highest(pieces, indices.length, (piece) => piece.top);
    this.stacks = indices.map((index) => {
      const heights = [0];
      for (let level = 1; level <= levels; level++) {
        const { tracks } = channel(index, level);
        const arcs = tracks > 0 ? ARC_IN_GROUP + (tracks - 1) * ARC_STEP + GROUP_PAD : 0;
        heights.push(heights[level - 1]! + (level <= tops[index]! ? arcs + GROUP_HEADER : 0));
      }
      return heights;
    });
    this.sizes = indices.map((index) => this.sizeOf(index));
  }

  stack(row: number, level: number): number {
    return this.stacks[row]![level]!;
  }

  size(index: number): number {
    return this.sizes[index]!;
  }

  private whole(index: number): number {
    return this.stacks[index]!.at(-1)!;
  }

  private first(index: number): number {
    return this.whole(index) > 0 ? ARC_OVER_GROUP : ARC;
  }

  private sizeOf(index: number): number {
    const { tracks } = this.channels[index]!;
    const frames = this.feet[index]! + this.whole(index);
    const lines = tracks > 0 ? this.first(index) + (tracks - 1) * ARC_STEP + CLEAR : 0;
    if (index === 0 || index === this.grid.rows) return frames + Math.max(MARGIN, lines);
    return Math.max(GUTTER, frames + lines, frames > 0 ? frames + MARGIN : 0);
  }

  at({ index, level }: Step, track: number, start: number, end: number): number {
    if (level > 0) return end - this.stack(index, level - 1) - ARC_IN_GROUP - track * ARC_STEP;
    const top = start + this.feet[index]!;
    if (index === this.grid.rows) return top + CLEAR + track * ARC_STEP;
    const bottom = end - this.whole(index);
    const { tracks, drops } = this.channels[index]!;
    if (!drops && index > 0) return (top + bottom) / 2 + ((tracks - 1) / 2 - track) * ARC_STEP;
    return bottom - this.first(index) - track * ARC_STEP;
  }
}
