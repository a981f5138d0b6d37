/** Polylines with axis-parallel stretches -> rounded SVG paths, arrowheads, labels. */

import { px } from "../format";
import { CORNER } from "./metrics";
import type { Arrow, EdgePath, Label, Point } from "./types";

/** The line stops this far inside the arrowhead, so that its end does not show beside the tip. */
const INSET = 5;

const distance = (a: Point, b: Point): number => Math.abs(a.x - b.x) + Math.abs(a.y - b.y);

/** What lies between its corners. */
export const stretches = (points: readonly Point[]): (readonly [Point, Point])[] =>
  points.slice(1).map((point, index) => [points[index]!, point]);

/** A stretch that runs level: left and right end, and height. */
export interface Level {
  readonly lo: number;
  readonly hi: number;
  readonly y: number;
}

/** The longest, and the first such. */
export function longestLevel(points: readonly Point[]): Level | null {
  let best: Level | null = null;
  for (const [a, b] of stretches(points)) {
    const [lo, hi] = [Math.min(a.x, b.x), Math.max(a.x, b.x)];
    if (a.y === b.y && (!best || hi - lo > best.hi - best.lo)) best = { lo, hi, y: a.y };
  }
  return best;
}

/** The stretches that run up or down. */
export const uprights = (points: readonly Point[]): { x: number; top: number; bottom: number }[] =>
  stretches(points).flatMap(([a, b]) =>
    a.x === b.x ? [{ x: a.x, top: Math.min(a.y, b.y), bottom: Math.max(a.y, b.y) }] : [],
  );

/** Without repeated points and points on a straight stretch. */
export function simplify(points: readonly Point[]): Point[] {
  const kept: Point[] = [];
  for (const point of points) {
    const last = kept.at(-1);
    if (last && distance(last, point) < 1e-6) continue;
    const before = kept.at(-2);
    const straight =
      before && last && ((before.x === last.x && last.x === point.x) || (before.y === last.y && last.y === point.y));
    if (straight) kept.pop();
    kept.push(point);
  }
  return kept;
}

function towards(from: Point, to: Point, by: number): Point {
  const length = distance(from, to) || 1;
  return { x: from.x + ((to.x - from.x) / length) * by, y: from.y + ((to.y - from.y) / length) * by };
}

/** SVG path data, and the length of the line. */
export function rounded(points: readonly Point[], radius = CORNER): { path: string; length: number } {
  const first = points[0]!;
  let path = px`M${first.x} ${first.y}`;
  let length = 0;
  let from = first;
  for (let index = 1; index < points.length - 1; index++) {
    const [a, b, c] = [points[index - 1]!, points[index]!, points[index + 1]!];
    const r = Math.min(radius, distance(a, b) / 2, distance(b, c) / 2);
    const start = towards(b, a, r);
    const end = towards(b, c, r);
    const sweep = (b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x) > 0 ? 1 : 0;
    path += px`L${start.x} ${start.y}A${r} ${r} 0 0 ${sweep} ${end.x} ${end.y}`;
    length += distance(from, start) + (Math.PI / 2) * r;
    from = end;
  }
  const last = points.at(-1)!;
  return { path: path + px`L${last.x} ${last.y}`, length: length + distance(from, last) };
}

export interface Drawn {
  readonly id: string;
  readonly points: readonly Point[];
  readonly label: Label | null;
  /** Shares its last stretch, not its first one, with other edges. */
  readonly joins: boolean;
}

export function drawEdge(edge: Drawn): EdgePath {
  const points = simplify(edge.points);
  const tip = points.at(-1)!;
  const before = points.at(-2) ?? tip;
  const length = distance(before, tip) || 1;
  const arrow: Arrow = { x: tip.x, y: tip.y, dx: (tip.x - before.x) / length, dy: (tip.y - before.y) / length };
  const line = rounded([...points.slice(0, -1), towards(tip, before, Math.min(INSET, length / 2))]);
  return { id: edge.id, path: line.path, points, arrow, label: edge.label, dash: edge.joins ? -line.length : 0 };
}
