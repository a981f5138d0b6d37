/** A main edge of a U. */

import type { Point } from "./types";
import { CARD } from "./uplace";

/** Least stretch of two cards over each other for an upright line, and how far a line stays from a corner. */
const OVERLAP = 24;
const FROM_CORNER = 12;
const ELBOW = 32;
const BESIDE = 29;
const PORT = CARD.port;

/** In a row from side to side; between rows upright where the cards overlap, round an elbow, or back in the gap. */
export function along(a: Point, b: Point, turn: number): Point[] {
  if (a.y === b.y)
    return [
      { x: a.x + CARD.width, y: a.y + PORT },
      { x: b.x, y: b.y + PORT },
    ];
  const down = b.y > a.y;
  const [lo, hi] = [Math.max(a.x, b.x), Math.min(a.x, b.x) + CARD.width];
  const [from, to] = down ? [a.y + CARD.height, b.y] : [a.y, b.y + CARD.height];
  if (hi - lo >= OVERLAP)
    return [
      { x: (lo + hi) / 2, y: from },
      { x: (lo + hi) / 2, y: to },
    ];
  if (b.x < a.x) {
    // Beside the middle, where an arc may stand.
    const [start, end] = down
      ? [a.x + CARD.width / 2, b.x + BESIDE]
      : [a.x + CARD.width - BESIDE, b.x + CARD.width / 2];
    return [
      { x: start, y: from },
      { x: start, y: turn },
      { x: end, y: turn },
      { x: end, y: to },
    ];
  }
  if (down) {
    const x = Math.min(a.x + CARD.width - FROM_CORNER, b.x - ELBOW);
    return [
      { x, y: from },
      { x, y: b.y + PORT },
      { x: b.x, y: b.y + PORT },
    ];
  }
  const x = Math.max(b.x + FROM_CORNER, a.x + CARD.width + ELBOW);
  return [
    { x: a.x + CARD.width, y: a.y + PORT },
    { x, y: a.y + PORT },
    { x, y: to },
  ];
}
