/** Parallel lines in one channel: which lies beside which, and how closely they pack. */

import { times } from "../lists";

/** Where a line is left, and to which side: -1 left or up, 1 right or down. */
export interface End {
  readonly at: number;
  readonly side: -1 | 1;
}

export interface Segment {
  readonly lo: number;
  readonly hi: number;
  readonly ends: readonly End[];
}

/** Lines of different edges that lie on each other deceive; crossings only disturb. */
const OVERLAP_COST = 100;
const PASSES = 3;
/** Beyond this many lines one pass of insertion has to do. */
const MANY = 120;

interface Sides {
  readonly lo: number;
  readonly hi: number;
  /** Where the line is left to either side, ascending, each place once. */
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly lowSet: ReadonlySet<number>;
}

function sidesOf({ lo, hi, ends }: Segment): Sides {
  const places = (side: -1 | 1): number[] => {
    const found = new Set<number>();
    for (const end of ends) if (end.side === side) found.add(end.at);
    return [...found].sort((a, b) => a - b);
  };
  const low = places(-1);
  return { lo, hi, low, high: places(1), lowSet: new Set(low) };
}

/** What it costs that `a` lies on the -1 side of `b`. */
function cost(a: Sides, b: Sides): number {
  let sum = between(a.high, b.lo, b.hi) + between(b.low, a.lo, a.hi);
  for (const at of a.high) if (b.lowSet.has(at)) sum += OVERLAP_COST;
  return sum;
}

/** How many of the ascending values lie inside. */
function between(values: readonly number[], lo: number, hi: number): number {
  return Math.max(0, firstFrom(values, hi, false) - firstFrom(values, lo, true));
}

/** Index of the first value that is at least (`beyond`: more than) `bound`. */
function firstFrom(values: readonly number[], bound: number, beyond: boolean): number {
  let [from, to] = [0, values.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const value = values[middle]!;
    if (value < bound || (beyond && value === bound)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Indices of the segments from the -1 side to the 1 side, ordered for few crossings; ties keep their order. */
export function arrange(segments: readonly Segment[]): number[] {
  const sides = segments.map(sidesOf);
  const order: number[] = [];
  const insert = (index: number): void => {
    const segment = sides[index]!;
    let here = 0;
    for (const other of order) here += cost(segment, sides[other]!);
    let best = here;
    let at = 0;
    for (let position = 0; position < order.length; position++) {
      const other = sides[order[position]!]!;
      here += cost(other, segment) - cost(segment, other);
      if (here <= best) {
        best = here;
        at = position + 1;
      }
    }
    order.splice(at, 0, index);
  };
  segments.forEach((_, index) => {
    insert(index);
  });
  for (let pass = 1; pass < PASSES && segments.length <= MANY; pass++) {
    const before = order.join();
    segments.forEach((_, index) => {
      order.splice(order.indexOf(index), 1);
      insert(index);
    });
    if (order.join() === before) break;
  }
  return order;
}

/**
 * Track of each segment, from 0; segments that touch never share one. `extents` are the stretches to keep clear.
 * Packed towards the side where `order` starts.
 */
export function pack(
  extents: readonly { readonly lo: number; readonly hi: number }[],
  order: readonly number[],
): number[] {
  const track = times(extents.length, () => 0);
  order.forEach((index, position) => {
    const extent = extents[index]!;
    for (let earlier = 0; earlier < position; earlier++) {
      const other = extents[order[earlier]!]!;
      if (other.lo <= extent.hi && extent.lo <= other.hi) {
        track[index] = Math.max(track[index]!, track[order[earlier]!]! + 1);
      }
    }
  });
  return track;
}
