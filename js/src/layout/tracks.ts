/** Parallel lines in one channel: which lies beside which, and how closely they pack. */

/** A line in a channel. `ends` say where it is left, and to which side (-1 left or up, 1 right or down). */
export interface Segment {
  readonly lo: number;
  readonly hi: number;
  readonly ends: readonly { readonly at: number; readonly side: -1 | 1 }[];
}

/** Lines of different edges that lie on each other deceive; crossings only disturb. */
const OVERLAP_COST = 6;
const PASSES = 3;
/** Beyond this many lines one pass of insertion has to do. */
const MANY = 120;

/** What it costs that `low` lies on the -1 side of `high`. */
function cost(low: Segment, high: Segment): number {
  let sum = 0;
  for (const end of low.ends) {
    if (end.side !== 1) continue;
    if (end.at > high.lo && end.at < high.hi) sum++;
    else if (high.ends.some((other) => other.at === end.at && other.side === -1)) sum += OVERLAP_COST;
  }
  for (const end of high.ends) if (end.side === -1 && end.at > low.lo && end.at < low.hi) sum++;
  return sum;
}

/** Indices of the segments from the -1 side to the 1 side, ordered for few crossings; ties keep their order. */
export function arrange(segments: readonly Segment[]): number[] {
  const order: number[] = [];
  const insert = (index: number): void => {
    const segment = segments[index]!;
    let here = 0;
    for (const other of order) here += cost(segment, segments[other]!);
    let best = here;
    let at = 0;
    for (let position = 0; position < order.length; position++) {
      const other = segments[order[position]!]!;
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
  const track = new Array<number>(extents.length).fill(0);
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
