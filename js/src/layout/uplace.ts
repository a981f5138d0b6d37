/** Cards of a U: one row per level, arms that step inwards, the bottom in the middle below them. */

import { ARC_STEP, CARDS, fit, GAP, GROUP_HEADER, GROUP_PAD, MARGIN } from "./metrics";
import type { UShape } from "./ushape";
import type { Point } from "./types";

export const CARD = CARDS.compact;
const STEP = 46;
const ROW_GAP = 24;
/** Between the arms where they are nearest. */
const BRIDGE = 92;
const BRIDGE_MOST = 200;

export interface UPlaces {
  readonly width: number;
  readonly height: number;
  /** Top left of each card, by stage. */
  readonly at: ReadonlyMap<number, Point>;
  /** By stage; the bottom's is the number of levels. */
  readonly row: ReadonlyMap<number, number>;
  readonly tops: readonly number[];
  /** The side's stages stand in the bottom's row. */
  readonly sideInBottomRow: boolean;
}

/** Extra height over each row: for arcs, and for the frames of groups. */
export interface RowRoom {
  readonly arcs: readonly number[];
  readonly frames: readonly number[];
}

export function placeU(
  shape: UShape,
  room: RowRoom,
  canvas: { readonly width: number; readonly height: number },
): UPlaces {
  const narrow = measure(shape, room, 0);
  const scale = fit(narrow.width, narrow.height, canvas);
  const spare = Math.max(0, Math.min(canvas.width / scale - narrow.width, BRIDGE_MOST - BRIDGE));
  return measure(shape, room, spare);
}

const run = (count: number, gap: number): number => (count > 0 ? count * CARD.width + (count - 1) * gap : 0);

/** Offset of each row's outermost card from the outer margin: a step in from the row above, whose ends do not count. */
function offsets(rows: readonly (readonly number[])[], pitch: number, isEnd: (node: number) => boolean): number[] {
  const starts: number[] = [];
  let next = 0;
  for (const nodes of rows) {
    starts.push(next);
    if (nodes.length > 0)
      next +=
        Math.max(
          0,
          nodes.findIndex((node) => !isEnd(node)),
        ) *
          pitch +
        STEP;
  }
  return starts;
}

function measure(shape: UShape, room: RowRoom, spare: number): UPlaces {
  const frames = Math.max(0, ...room.frames);
  const gap = GAP + (frames > 0 ? 2 * frames * GROUP_PAD - GAP / 2 : 0);
  const margin = MARGIN + frames * GROUP_PAD;
  const pitch = CARD.width + gap;
  const outer = shape.right.map((nodes) => nodes.slice().reverse());
  const isEnd = (node: number): boolean => shape.ends.has(node);
  const [left, right] = [offsets(shape.left, pitch, isEnd), offsets(outer, pitch, isEnd)];
  const reach = shape.left.map(
    (nodes, level) => left[level]! + run(nodes.length, gap) + right[level]! + run(outer[level]!.length, gap),
  );
  const width =
    2 * margin +
    Math.max(...reach.map((both) => both + BRIDGE + frames * 2 * GROUP_PAD), run(shape.bottom.length, gap)) +
    spare;
  const at = new Map<number, Point>();
  const row = new Map<number, number>();
  const tops = rowTops(shape, room);
  const put = (node: number, level: number, x: number): void => {
    at.set(node, { x: Math.round(x), y: tops[level]! });
    row.set(node, level);
  };
  shape.left.forEach((nodes, level) => {
    nodes.forEach((node, index) => {
      put(node, level, margin + left[level]! + index * pitch);
    });
    outer[level]!.forEach((node, index) => {
      put(node, level, width - margin - right[level]! - index * pitch - CARD.width);
    });
  });
  const depth = shape.left.length;
  const bottom = (width - run(shape.bottom.length, gap)) / 2;
  shape.bottom.forEach((node, index) => {
    put(node, depth, bottom + index * pitch);
  });
  const sideEnd = margin + run(shape.side.length, gap);
  const sideInBottomRow = sideEnd + STEP <= bottom;
  const below = [
    shape.side.length > 0 && !sideInBottomRow ? shape.side : [],
    ...chunks(shape.isolated, Math.floor((width - 2 * margin + gap) / pitch)),
  ];
  if (sideInBottomRow)
    shape.side.forEach((node, index) => {
      put(node, depth, margin + index * pitch);
    });
  let last = depth;
  for (const nodes of below) {
    if (nodes.length === 0) continue;
    last++;
    tops[last] = tops[last - 1]! + CARD.height + ROW_GAP + ARC_STEP;
    nodes.forEach((node, index) => {
      put(node, last, margin + index * pitch);
    });
  }
  const bus = shape.side.length > 0 && last === depth ? 2 * ARC_STEP : MARGIN;
  return { width, height: tops[last]! + CARD.height + bus + frames * GROUP_PAD, at, row, tops, sideInBottomRow };
}

function rowTops(shape: UShape, room: RowRoom): number[] {
  const tops: number[] = [];
  for (let level = 0; level <= shape.left.length; level++) {
    const arcs = room.arcs[level] ?? 0;
    const frames = (room.frames[level] ?? 0) * (GROUP_HEADER + GROUP_PAD);
    const above = frames + (arcs > 0 ? (arcs - 1) * ARC_STEP : 0);
    const first = MARGIN + (arcs > 0 ? ARC_STEP : 0);
    tops.push(level === 0 ? first + above : tops[level - 1]! + CARD.height + ROW_GAP + above);
  }
  return tops;
}

function chunks(nodes: readonly number[], size: number): (readonly number[])[] {
  const rows: (readonly number[])[] = [];
  for (let index = 0; index < nodes.length; index += size) rows.push(nodes.slice(index, index + size));
  return rows;
}
