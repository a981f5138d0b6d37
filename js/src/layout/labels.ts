/** Where on its line an edge's words go: clear of the lines that cross it. */

import { held } from "../lists";
import { type Level, longestLevel, uprights } from "./path";
import type { Label, Point } from "./types";

/** "on" breaks the line in the middle; "start" and "end" stand over it. */
export type LabelKind = "on" | "start" | "end";

export interface Labelled {
  readonly points: readonly Point[];
  readonly label: LabelKind | null;
}

/** Space that a usual label takes, and the least that is worth writing in. */
const USUAL = 96;
const LEAST = 28;
const SIDE = 8;
const BASELINE = 8;
const SHELF = 64;
/** A word stands clear of an arrowhead. */
const HEAD = 16;

interface Obstacle {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly edge: number;
}

export function placeLabels(edges: readonly Labelled[]): (Label | null)[] {
  if (edges.every(({ label }) => label === null)) return edges.map(() => null);
  const shelves: Shelves = new Map();
  edges.forEach(({ points }, edge) => {
    for (const { x, top, bottom } of uprights(points)) put(shelves, { left: x, right: x, top, bottom, edge });
  });
  return edges.map(({ points, label: kind }, edge) => {
    const stretch = kind && longestLevel(points);
    if (!stretch) return null;
    const { lo, hi, y } = stretch;
    const [top, bottom] = kind === "on" ? [y - SIDE, y + SIDE] : [y - 2 * SIDE, y - 2];
    const inWay = between(shelves, top, bottom).filter(
      (other) => other.edge !== edge && other.right > lo && other.left < hi,
    );
    const label = inClearing(clearings(lo, hi, inWay), stretch, kind);
    if (label) put(shelves, { ...spanOf(label), top, bottom, edge });
    return label;
  });
}

/** Obstacles by height, so that a label looks only at those near it. */
type Shelves = Map<number, Obstacle[]>;

function put(shelves: Shelves, obstacle: Obstacle): void {
  for (let at = Math.floor(obstacle.top / SHELF); at <= obstacle.bottom / SHELF; at++)
    held(shelves, at, () => []).push(obstacle);
}

function between(shelves: Shelves, top: number, bottom: number): Obstacle[] {
  const found = new Set<Obstacle>();
  for (let at = Math.floor(top / SHELF); at <= bottom / SHELF; at++)
    for (const obstacle of shelves.get(at) ?? [])
      if (obstacle.top < bottom && obstacle.bottom > top) found.add(obstacle);
  return [...found];
}

function spanOf({ x, width, anchor }: Label): { left: number; right: number } {
  const taken = Math.min(width, USUAL);
  const left = anchor === "start" ? x : anchor === "end" ? x - taken : x - taken / 2;
  return { left, right: left + taken };
}

/** Between two obstacles; `width` is what a label can take there. */
interface Span {
  readonly lo: number;
  readonly hi: number;
  readonly width: number;
}

function span(left: number, right: number): Span {
  const [lo, hi] = [left + SIDE, right - SIDE];
  return { lo, hi, width: Math.min(hi - lo, USUAL) };
}

function clearings(lo: number, hi: number, inWay: readonly Obstacle[]): Span[] {
  const found: Span[] = [];
  let at = lo;
  for (const { left, right } of [...inWay].sort((a, b) => a.left - b.left)) {
    found.push(span(at, left));
    at = Math.max(at, right);
  }
  return [...found, span(at, hi)];
}

function inClearing(clear: readonly Span[], { lo, hi, y }: Level, kind: LabelKind): Label | null {
  const middle = (lo + hi) / 2;
  const wanted = { on: middle, start: lo, end: hi }[kind];
  const off = ({ lo, hi }: Span): number => Math.max(lo - wanted, wanted - hi, 0);
  const best = clear.reduce((a, b) => (b.width > a.width || (b.width === a.width && off(b) < off(a)) ? b : a));
  if (best.width < LEAST) return null;
  if (kind === "on") {
    const half = best.width / 2;
    const x = Math.max(best.lo + half, Math.min(middle, best.hi - half));
    return { x, y, anchor: "middle", placement: "on", width: 2 * Math.min(x - best.lo, best.hi - x) };
  }
  const head = kind === "end" ? HEAD : 0;
  const x = kind === "end" ? best.hi - HEAD : best.lo;
  return { x, y: y - BASELINE, anchor: kind, placement: "above", width: best.hi - best.lo - head };
}
