/** Lines from a hub to many stages of a U: one bus outside each arm, and one below the bottom. */

import { ARC_STEP } from "./metrics";
import type { Link } from "./net";
import type { Point } from "./types";
import { along } from "./ualong";
import { CARD, type UPlaces } from "./uplace";
import type { UShape } from "./ushape";

/** Between a bus and the cards that it passes. */
const BUS = 15;
const CLEAR = 8;
const FROM_CORNER = 12;
/** Where lines enter a card from below, beside its main edge. */
const BESIDE = 29;

interface Seat {
  readonly onLeft: boolean;
  /** The outer side is free: the line enters there. On level 0 the bus stands right below. */
  readonly outermost: boolean;
}

function seatOf(shape: UShape, target: number, row: number): Seat {
  const onLeft = shape.left[row]?.includes(target) ?? false;
  const calls = (onLeft ? shape.left : shape.right)[row]!.filter((node) => row > 0 || !shape.ends.has(node));
  return { onLeft, outermost: target === (onLeft ? calls[0] : calls.at(-1)) };
}

/** Rows with a stage that can only be reached from the gap below. */
export function hubGutters(shape: UShape): ReadonlySet<number> {
  const rows = new Set<number>();
  shape.left.forEach((nodes, row) => {
    const members = [...nodes, ...shape.right[row]!];
    const inner = shape.fromHub.some(({ target }) => members.includes(target) && !seatOf(shape, target, row).outermost);
    if (inner) rows.add(row);
  });
  return rows;
}

/** Up outside an arm and in from its outer side; what stands further in is reached from below. Null if blocked. */
export function fromHub(shape: UShape, places: UPlaces, linesOver: readonly number[], link: Link): Point[] | null {
  const { target, kind } = link;
  const to = places.at[target]!;
  const row = places.row[target]!;
  const depth = shape.left.length;
  const under = places.tops[depth]! + CARD.height + ARC_STEP;
  if (row === depth) {
    const x = to.x + CARD.width / 2;
    return [...hubStart(shape, places, under), { x, y: under }, { x, y: to.y + CARD.height }];
  }
  const { onLeft, outermost } = seatOf(shape, target, row);
  const second = places.at[(onLeft ? shape.left[1]![0] : shape.right[1]!.at(-1))!]!;
  const away = BUS + (kind === "main" ? ARC_STEP : 0);
  const bus = onLeft ? second.x - away : second.x + CARD.width + away;
  const hub = places.at[shape.side.at(-1)!]!;
  if (onLeft && !over(hub, bus)) return null;
  if (blocked(shape, places, bus, onLeft && places.sideInBottomRow)) return null;
  const up = onLeft ? [{ x: bus, y: hub.y }] : [...hubStart(shape, places, under), { x: bus, y: under }];
  if (outermost && row > 0) {
    return [...up, { x: bus, y: to.y + CARD.port }, { x: onLeft ? to.x : to.x + CARD.width, y: to.y + CARD.port }];
  }
  if (outermost && over(to, bus)) return [...up, { x: bus, y: to.y + CARD.height }];
  const y = places.tops[row + 1]! - ARC_STEP * linesOver[row + 1]!;
  const x = to.x + entryBeside(shape, places, target, onLeft);
  return [...up, { x: bus, y }, { x, y }, { x, y: to.y + CARD.height }];
}

/** On the outer part of a card, or on the inner one where its line from or to the bottom passes there. */
function entryBeside(shape: UShape, places: UPlaces, target: number, onLeft: boolean): number {
  const [outer, inner] = onLeft ? [BESIDE, CARD.width - BESIDE] : [CARD.width - BESIDE, BESIDE];
  const to = places.at[target]!;
  const beside = places.at[onLeft ? shape.bottom[0]! : shape.bottom.at(-1)!]!;
  const line = onLeft ? along(to, beside, 0)[0]! : along(beside, to, 0).at(-1)!;
  return Math.abs(line.x - to.x - outer) < CLEAR ? inner : outer;
}

const over = (card: Point, x: number): boolean => x > card.x + FROM_CORNER && x < card.x + CARD.width - FROM_CORNER;

/** The bus would run through a card of the bottom's row. */
function blocked(shape: UShape, places: UPlaces, bus: number, above: boolean): boolean {
  const near = (node: number): boolean => {
    const { x } = places.at[node]!;
    return bus > x - CLEAR && bus < x + CARD.width + CLEAR;
  };
  return !above && shape.bottom.some(near);
}

/** Into the gap under the bottom's row. */
function hubStart(shape: UShape, places: UPlaces, under: number): Point[] {
  const hub = places.at[shape.side.at(-1)!]!;
  const x = hub.x + CARD.width / 2;
  return [
    { x, y: places.sideInBottomRow ? hub.y + CARD.height : hub.y },
    { x, y: under },
  ];
}
