/** Cards of a U: one row per level, arms that step inwards, the bottom in the middle below them. */

import { ARC_STEP, CARDS, GAP, GROUP_HEADER, GROUP_PAD, MARGIN, scaleToFit } from "./metrics";
import type { Point } from "./types";
import type { UShape } from "./ushape";

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
  readonly at: readonly Point[];
  /** By stage; the bottom's is the number of levels. */
  readonly row: readonly number[];
  readonly tops: readonly number[];
  /** The side's stages stand in the bottom's row. */
  readonly sideInBottomRow: boolean;
}

/** Over each row: level lines, and levels of group frames. */
export interface RowRoom {
  readonly lines: readonly number[];
  readonly frames: readonly number[];
  /** Levels of the highest frame anywhere. */
  readonly levels: number;
}

interface Measures {
  readonly gap: number;
  readonly pitch: number;
  readonly margin: number;
  readonly levels: number;
}

export function placeU(
  shape: UShape,
  room: RowRoom,
  canvas: { readonly width: number; readonly height: number },
): UPlaces {
  const narrow = place(shape, room, 0);
  const scale = scaleToFit(narrow.width, narrow.height, canvas);
  const spare = Math.max(0, Math.min(canvas.width / scale - narrow.width, BRIDGE_MOST - BRIDGE));
  return place(shape, room, spare);
}

function place(shape: UShape, room: RowRoom, spare: number): UPlaces {
  const { levels } = room;
  const gap = levels > 0 ? GAP / 2 + 2 * levels * GROUP_PAD : GAP;
  const measures = { gap, pitch: CARD.width + gap, margin: MARGIN + levels * GROUP_PAD, levels };
  const tops = rowTops(shape, room);
  const at: Point[] = [];
  const row: number[] = [];
  const put = (nodes: readonly number[], level: number, start: number): void =>
    nodes.forEach((node, index) => {
      at[node] = { x: Math.round(start) + index * measures.pitch, y: tops[level]! };
      row[node] = level;
    });
  const width = placeArms(shape, measures, spare, put);
  const depth = shape.left.length;
  const bottom = (width - run(shape.bottom.length, gap)) / 2;
  put(shape.bottom, depth, bottom);
  const side = measures.margin + (hubColumn(shape) + 1 - shape.side.length) * measures.pitch;
  const sideInBottomRow = side + run(shape.side.length, gap) + STEP <= bottom;
  if (sideInBottomRow) put(shape.side, depth, side);
  const rows = chunks(shape.isolated, Math.floor((width - 2 * measures.margin + gap) / measures.pitch));
  if (shape.side.length && !sideInBottomRow) rows.unshift({ nodes: shape.side, start: side });
  for (const { nodes, start } of rows) {
    tops.push(tops.at(-1)! + CARD.height + ROW_GAP + ARC_STEP + levels * (GROUP_HEADER + GROUP_PAD));
    put(nodes, tops.length - 1, start ?? measures.margin);
  }
  const bus = shape.side.length && tops.length === depth + 1 ? 2 * ARC_STEP : MARGIN;
  return { width, height: tops.at(-1)! + CARD.height + bus + levels * GROUP_PAD, at, row, tops, sideInBottomRow };
}

const run = (count: number, gap: number): number => (count > 0 ? count * CARD.width + (count - 1) * gap : 0);

/** The hub stands under the first stage after the inputs: there its bus passes between the arm's first rows. */
export function hubColumn(shape: UShape): number {
  return Math.max(firstCall(shape, shape.left[0]!), shape.side.length - 1);
}

const firstCall = (shape: UShape, nodes: readonly number[]): number =>
  Math.max(
    0,
    nodes.findIndex((node) => !shape.ends.has(node)),
  );

type Put = (nodes: readonly number[], level: number, start: number) => void;

/** Returns the width. */
function placeArms(shape: UShape, { gap, pitch, margin, levels }: Measures, spare: number, put: Put): number {
  const outer = shape.right.map((nodes) => nodes.slice().reverse());
  // Offset of a row's outermost card: a step in from the row above, whose inputs and outputs do not count.
  const offsets = (rows: readonly (readonly number[])[]): number[] => {
    let next = 0;
    return rows.map((nodes) => {
      const start = next;
      if (nodes.length) next += firstCall(shape, nodes) * pitch + STEP;
      return start;
    });
  };
  const [left, right] = [offsets(shape.left), offsets(outer)];
  const reach = shape.left.map((nodes, level) => {
    const arms = left[level]! + run(nodes.length, gap) + right[level]! + run(outer[level]!.length, gap);
    return arms + BRIDGE + 2 * levels * GROUP_PAD;
  });
  const width = 2 * margin + Math.max(...reach, run(shape.bottom.length, gap)) + spare;
  shape.left.forEach((nodes, level) => {
    put(nodes, level, margin + left[level]!);
    put(shape.right[level]!, level, width - margin - right[level]! - run(outer[level]!.length, gap));
  });
  return width;
}

/** Arcs and turns lie over the cards, frames around them. */
function rowTops(shape: UShape, room: RowRoom): number[] {
  const tops: number[] = [];
  for (let level = 0; level <= shape.left.length; level++) {
    const lines = room.lines[level] ?? 0;
    const frames = (room.frames[level] ?? 0) * (GROUP_HEADER + GROUP_PAD);
    const feet = room.levels * GROUP_PAD;
    if (level === 0) tops.push(MARGIN + lines * ARC_STEP + frames);
    else {
      const between = Math.max(ROW_GAP, (lines + 1) * ARC_STEP) + frames + feet;
      tops.push(tops[level - 1]! + CARD.height + between);
    }
  }
  return tops;
}

function chunks(nodes: readonly number[], size: number): { nodes: readonly number[]; start?: number }[] {
  const rows: { nodes: readonly number[]; start?: number }[] = [];
  for (let index = 0; index < nodes.length; index += size) rows.push({ nodes: nodes.slice(index, index + size) });
  return rows;
}
