/** Where an endless row of columns is broken into rows. */

import { type CardMetrics, GAP, GROUP_HEADER, GROUP_PAD, GUTTER, MARGIN, scaleToFit } from "./metrics";

export interface Range {
  /** First column, and the one after the last. */
  readonly start: number;
  readonly end: number;
}

export interface BreakInput {
  readonly count: number;
  /** What it costs to break before a column. */
  readonly cost: readonly number[];
  /** Lanes that a row of these columns needs, the trunk's included. */
  readonly lanes: (range: Range) => number;
  /** Levels of nested groups. */
  readonly levels: number;
  /** Rows below all others. */
  readonly extraRows: number;
  readonly card: CardMetrics;
  readonly canvas: { readonly width: number; readonly height: number };
}

/** A break that must not be. */
export const NEVER = 1e6;
/** How far a break may lie from the place that makes rows equal. */
const REACH = 12;
/** Scales within this factor are the same to a reader; then fewer rows win. */
const SCALE_STEP = Math.log(1.05);

export function breakRows(input: BreakInput): Range[] {
  const whole = [{ start: 0, end: input.count }];
  if (widthOf(input, input.count) <= input.canvas.width) return whole;
  let best = whole;
  let bestScale = scaleOf(input, whole);
  for (let rows = 2; rows <= input.count / 2; rows++) {
    if (scaleStep(input, Math.ceil(input.count / rows), rows, rows) <= bestScale) continue;
    const ranges = equalRows(input, rows);
    if (!ranges) continue;
    const scale = scaleOf(input, ranges);
    if (scale > bestScale) [best, bestScale] = [ranges, scale];
  }
  return best;
}

function widthOf(input: BreakInput, columns: number): number {
  const gap = Math.max(GAP, input.levels * 2 * GROUP_PAD + GAP / 2);
  return 2 * MARGIN + columns * input.card.width + (columns - 1) * gap;
}

/** Scale in steps that a reader can tell apart. */
function scaleStep(input: BreakInput, columns: number, rows: number, bands: number): number {
  const heads = bands * input.levels * (GROUP_HEADER + GROUP_PAD);
  const cards = (rows + input.extraRows) * (input.card.height + GUTTER) - GUTTER;
  const scale = scaleToFit(widthOf(input, columns), 2 * MARGIN + cards + heads, input.canvas);
  return Math.floor(Math.log(scale) / SCALE_STEP + 1e-9);
}

function scaleOf(input: BreakInput, ranges: readonly Range[]): number {
  const columns = Math.max(...ranges.map((range) => range.end - range.start));
  const rows = ranges.reduce((sum, range) => sum + input.lanes(range), 0);
  return scaleStep(input, columns, rows, ranges.length);
}

/** Dynamic programme over the ends of the rows: unequal lengths cost their square, breaks what they cost. */
function equalRows(input: BreakInput, rows: number): Range[] | null {
  const { count, cost } = input;
  const ideal = count / rows;
  const reach = Math.min(REACH, Math.floor(ideal / 2));
  const ends: { end: number; total: number; from: number }[][] = [[{ end: 0, total: 0, from: 0 }]];
  for (let row = 1; row <= rows; row++) {
    const middle = Math.round(row * ideal);
    const last = row === rows;
    const candidates: { end: number; total: number; from: number }[] = [];
    for (let end = last ? count : middle - reach; end <= (last ? count : Math.min(count - 1, middle + reach)); end++) {
      let best = { end, total: Number.POSITIVE_INFINITY, from: 0 };
      ends[row - 1]!.forEach((before, from) => {
        const length = end - before.end;
        if (length < (last ? 2 : 1)) return;
        const total = before.total + (length - ideal) ** 2 + (last ? 0 : cost[end]!);
        if (total < best.total) best = { end, total, from };
      });
      candidates.push(best);
    }
    ends.push(candidates);
  }
  if (!(ends[rows]![0]!.total < NEVER)) return null;
  const ranges: Range[] = [];
  let at = 0;
  for (let row = rows; row >= 1; row--) {
    const { end, from } = ends[row]![at]!;
    ranges.push({ start: ends[row - 1]![from]!.end, end });
    at = from;
  }
  return ranges.reverse();
}
