/** Where on its line an edge's words go: clear of the lines that cross it. */

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
  const shelves = new Shelves();
  edges.forEach(({ points }, edge) => {
    for (let index = 1; index < points.length; index++) {
      const [a, b] = [points[index - 1]!, points[index]!];
      if (a.x !== b.x) continue;
      shelves.add({ left: a.x, right: a.x, top: Math.min(a.y, b.y), bottom: Math.max(a.y, b.y), edge });
    }
  });
  return edges.map(({ points, label: kind }, edge) => {
    const stretch = kind ? longestLevel(points) : null;
    if (!kind || !stretch) return null;
    const { lo, hi, y } = stretch;
    const [top, bottom] = kind === "on" ? [y - SIDE, y + SIDE] : [y - 2 * SIDE, y - 2];
    const inWay = shelves
      .between(top, bottom)
      .filter((other) => other.edge !== edge && other.right > lo && other.left < hi);
    const label = inClearing(clearings(lo, hi, inWay), { lo, hi, y }, kind);
    if (label) shelves.add({ ...spanOf(label), top, bottom, edge });
    return label;
  });
}

/** Obstacles by height, so that a label looks only at those near it. */
class Shelves {
  private readonly shelves = new Map<number, Obstacle[]>();

  add(obstacle: Obstacle): void {
    for (let at = Math.floor(obstacle.top / SHELF); at <= obstacle.bottom / SHELF; at++) {
      const shelf = this.shelves.get(at);
      if (shelf) shelf.push(obstacle);
      else this.shelves.set(at, [obstacle]);
    }
  }

  between(top: number, bottom: number): Obstacle[] {
    const found = new Set<Obstacle>();
    for (let at = Math.floor(top / SHELF); at <= bottom / SHELF; at++) {
      for (const obstacle of this.shelves.get(at) ?? []) {
        if (obstacle.top < bottom && obstacle.bottom > top) found.add(obstacle);
      }
    }
    return [...found];
  }
}

function spanOf({ x, width, anchor }: Label): { left: number; right: number } {
  const taken = Math.min(width, USUAL);
  const left = anchor === "start" ? x : anchor === "end" ? x - taken : x - taken / 2;
  return { left, right: left + taken };
}

interface Span {
  readonly lo: number;
  readonly hi: number;
}

function clearings(lo: number, hi: number, inWay: readonly Obstacle[]): Span[] {
  const found: Span[] = [];
  let at = lo;
  for (const { left, right } of [...inWay].sort((a, b) => a.left - b.left)) {
    found.push({ lo: at + SIDE, hi: left - SIDE });
    at = Math.max(at, right);
  }
  return [...found, { lo: at + SIDE, hi: hi - SIDE }];
}

function inClearing(clear: readonly Span[], stretch: Span & { readonly y: number }, kind: LabelKind): Label | null {
  const { y } = stretch;
  const middle = (stretch.lo + stretch.hi) / 2;
  const wanted = kind === "on" ? middle : kind === "start" ? stretch.lo : stretch.hi;
  const width = ({ lo, hi }: Span): number => Math.min(hi - lo, USUAL);
  const off = ({ lo, hi }: Span): number => Math.max(lo - wanted, wanted - hi, 0);
  const best = clear.reduce((a, b) => (width(b) > width(a) || (width(b) === width(a) && off(b) < off(a)) ? b : a));
  if (width(best) < LEAST) return null;
  if (kind === "start")
    return { x: best.lo, y: y - BASELINE, anchor: "start", placement: "above", width: best.hi - best.lo };
  if (kind === "end")
    return { x: best.hi - HEAD, y: y - BASELINE, anchor: "end", placement: "above", width: best.hi - best.lo - HEAD };
  const half = width(best) / 2;
  const x = Math.max(best.lo + half, Math.min(middle, best.hi - half));
  return { x, y, anchor: "middle", placement: "on", width: 2 * Math.min(x - best.lo, best.hi - x) };
}

function longestLevel(points: readonly Point[]): { lo: number; hi: number; y: number } | null {
  let best: { lo: number; hi: number; y: number } | null = null;
  for (let index = 1; index < points.length; index++) {
    const [a, b] = [points[index - 1]!, points[index]!];
    if (a.y !== b.y) continue;
    const [lo, hi] = [Math.min(a.x, b.x), Math.max(a.x, b.x)];
    if (!best || hi - lo > best.hi - best.lo) best = { lo, hi, y: a.y };
  }
  return best;
}
