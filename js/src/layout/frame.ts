/** Grid and channels in px: columns and rows as wide and as far apart as the lines between them need. */

import { times } from "../lists";
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
import { h, keyOf, type Step, v } from "./routes";

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

/** Along one axis: how far each column (row) is from the one before it, and where its lines lie in that gap. */
interface Gaps {
  size(index: number): number;
  /** `start` and `end` of the gap are known once all sizes are. */
  at(step: Step, track: number, start: number, end: number): number;
}

/** A turn and an arrowhead beside the lines of a gap. */
const TURNS = 16;
const ARC_IN_GROUP = 14;
const ARC_OVER_GROUP = 10;
/** Room over the highest line of a gutter. */
const CLEAR = 14;

/** Padding, at each of `count` places, of the outermost frame that has its border there. */
function padding(pieces: readonly Piece[], count: number, placeOf: (piece: Piece) => number): number[] {
  const pads = times(count, () => 0);
  for (const piece of pieces) pads[placeOf(piece)] = Math.max(pads[placeOf(piece)]!, piece.level * GROUP_PAD);
  return pads;
}

/** `slack` is spread over the gaps between columns. */
export function makeFrame(
  grid: Grid,
  card: CardMetrics,
  pieces: readonly Piece[],
  channels: Channels,
  slack: number,
): Frame {
  const stack = stacks(grid, pieces, channels);
  const axes = {
    v: lay(grid.columns, card.width, columnGaps(grid, pieces, channels, slack)),
    h: lay(grid.rows, card.height, rowGaps(grid, pieces, channels, stack)),
  };
  const [x, y] = [axes.v.starts, axes.h.starts];
  return {
    width: axes.v.size,
    height: axes.h.size,
    x,
    y,
    at: (step, track) => axes[step.axis].at(step, track),
    extent: (step) => axes[step.axis].extent(step.index),
    box(piece) {
      const pad = piece.level * GROUP_PAD;
      const top = y[piece.top]! - stack(piece.top, piece.level);
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

/** `count` columns (rows) of one size, and the gaps between them. */
function lay(count: number, size: number, gaps: Gaps) {
  const starts: number[] = [];
  let all = 0;
  for (let index = 0; index < count; index++) {
    all += gaps.size(index);
    starts.push(all);
    all += size;
  }
  all += gaps.size(count);
  const extent = (index: number) => ({ lo: index && starts[index - 1]! + size, hi: starts[index] ?? all });
  const at = (step: Step, track: number): number => {
    const { lo, hi } = extent(step.index);
    return gaps.at(step, track, lo, hi);
  };
  return { starts, size: all, extent, at };
}

function columnGaps({ columns }: Grid, pieces: readonly Piece[], channels: Channels, slack: number): Gaps {
  const before = padding(pieces, columns + 1, (piece) => piece.right + 1);
  const after = padding(pieces, columns + 1, (piece) => piece.left);
  const tracksIn = before.map((_, index) => channels.get(keyOf(v(index)))?.tracks ?? 0);
  return {
    size(index) {
      const tracks = tracksIn[index]!;
      const pads = before[index]! + after[index]!;
      if (index === 0 || index === columns) return pads + MARGIN + Math.max(0, tracks - 1) * TRACK_STEP;
      const lines = tracks > 0 ? TURNS + (tracks - 1) * TRACK_STEP : GAP / 2;
      const least = Math.max(GAP, pads + lines);
      return Math.max(least, Math.min(least + slack, GAP_MAX));
    },
    at({ index }, track, start, end) {
      const [left, right] = [start + before[index]!, end - after[index]!];
      const offset = track * TRACK_STEP;
      if (index === 0) return right - MARGIN / 2 - offset;
      if (index === columns) return left + MARGIN / 2 + offset;
      const width = (Math.max(1, tracksIn[index]!) - 1) * TRACK_STEP;
      // Off the middle: the arrowhead needs the room.
      return (left + right) / 2 - 2 - width / 2 + offset;
    },
  };
}

/** Height over a row of the frames up to a level, each with its arcs inside and its name on top. */
function stacks({ rows }: Grid, pieces: readonly Piece[], channels: Channels): (row: number, level: number) => number {
  const heights = times(rows + 1, () => [0]);
  for (const { top, level: most } of pieces) {
    const found = heights[top]!;
    for (let level = found.length; level <= most; level++) {
      const tracks = channels.get(keyOf(h(top, level)))?.tracks ?? 0;
      const arcs = tracks > 0 ? ARC_IN_GROUP + (tracks - 1) * ARC_STEP + GROUP_PAD : 0;
      found.push(found.at(-1)! + arcs + GROUP_HEADER);
    }
  }
  return (row, level) => heights[row]![level] ?? heights[row]!.at(-1)!;
}

function rowGaps(
  { rows }: Grid,
  pieces: readonly Piece[],
  channels: Channels,
  stack: (row: number, level: number) => number,
): Gaps {
  /** Under each row above, padding of the groups that end there. */
  const feet = padding(pieces, rows + 1, (piece) => piece.bottom + 1);
  const lanes = feet.map((_, index): Channel => channels.get(keyOf(h(index))) ?? { tracks: 0, drops: false });
  const whole = (index: number): number => stack(index, Number.POSITIVE_INFINITY);
  const first = (index: number): number => (whole(index) > 0 ? ARC_OVER_GROUP : ARC);
  return {
    size(index) {
      const { tracks } = lanes[index]!;
      const frames = feet[index]! + whole(index);
      const lines = tracks > 0 ? first(index) + (tracks - 1) * ARC_STEP + CLEAR : 0;
      if (index === 0 || index === rows) return frames + Math.max(MARGIN, lines);
      return Math.max(GUTTER, frames + lines, frames > 0 ? frames + MARGIN : 0);
    },
    at({ index, level }, track, start, end) {
      const offset = track * ARC_STEP;
      if (level > 0) return end - stack(index, level - 1) - ARC_IN_GROUP - offset;
      const top = start + feet[index]!;
      if (index === rows) return top + CLEAR + offset;
      const bottom = end - whole(index);
      const { tracks, drops } = lanes[index]!;
      if (!drops && index > 0) return (top + bottom) / 2 + ((tracks - 1) / 2) * ARC_STEP - offset;
      return bottom - first(index) - offset;
    },
  };
}
