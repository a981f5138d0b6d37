/** Encoder and decoder whose skips nest like brackets: drawn as a U. */

import { times } from "../lists";
import { drawing } from "./drawing";
import type { Canvas } from "./layered";
import { ARC_STEP, GROUP_HEADER, GROUP_PAD, scaleToFit } from "./metrics";
import type { Net } from "./net";
import { groupPieces, type Piece } from "./pieces";
import { type GroupTree, groupTree } from "./tree";
import type { Layout, LayoutGroup } from "./types";
import { linesOfU, linesOver } from "./uedges";
import { CARD, placeU, type UPlaces } from "./uplace";
import { findU, type UShape } from "./ushape";

/** Smaller than this a U shows no cards, and rows say more. */
const LEAST_SCALE = 0.45;

export function uLayout(net: Net, groups: readonly LayoutGroup[], canvas: Canvas): Layout | null {
  const shape = findU(net);
  if (!shape) return null;
  const tree = groupTree(net.stages, groups);
  const over = linesOver(shape);
  const { places, pieces } = settle(net, shape, tree, over.perRow, canvas);
  const scale = scaleToFit(places.width, places.height, canvas);
  const lines = scale < LEAST_SCALE ? null : linesOfU(net, shape, places, over);
  if (!lines) return null;
  const placeOf = (node: number) => ({ ...places.at[node]!, row: places.row[node]! });
  const { width, height } = places;
  const boxes = groupBoxes(pieces, places, over.perRow);
  return { mode: "u", scale, width, height, ...drawing(net, CARD, placeOf, lines, boxes) };
}

interface Placed {
  readonly piece: Piece;
  readonly left: number;
  readonly right: number;
}

/** Frames need room, and room moves cards: rows only ever get more, so this ends. */
function settle(
  net: Net,
  shape: UShape,
  tree: GroupTree,
  lines: readonly number[],
  canvas: Canvas,
): { places: UPlaces; pieces: Placed[] } {
  let frames: number[] = [];
  for (;;) {
    const places = placeU(shape, { lines, frames, levels: tree.levels }, canvas);
    const pieces = piecesOf(net, tree, places);
    const before = frames;
    const needed = places.tops.map((_, row) =>
      pieces.reduce((level, { piece }) => (piece.top === row ? Math.max(level, piece.level) : level), before[row] ?? 0),
    );
    if (needed.every((level, row) => level === (before[row] ?? 0))) return { places, pieces };
    frames = needed;
  }
}

/** Columns are the edges of cards, with a margin around: frames of neighbours must not touch. */
function piecesOf(net: Net, tree: GroupTree, places: UPlaces): Placed[] {
  const margin = GROUP_PAD * tree.levels;
  const starts = net.stages.map((_, node) => places.at[node]!.x - margin);
  const ends = starts.map((start) => start + CARD.width + 2 * margin);
  const edges = [...new Set([...starts, ...ends])].sort((a, b) => a - b);
  const place = new Map(edges.map((edge, index) => [edge, index]));
  const row = net.stages.map((_, node) => places.row[node]!);
  const [column, last] = [starts.map((start) => place.get(start)!), ends.map((end) => place.get(end)!)];
  const rows = places.tops.length;
  const cell = times(rows * edges.length, () => -1);
  net.stages.forEach((_, node) => {
    for (let at = column[node]!; at <= last[node]!; at++) cell[row[node]! * edges.length + at] = node;
  });
  const cells = { rows, columns: edges.length, row, column, last, cell, firstRow: row.map(() => 0) };
  return groupPieces(cells, tree).map((piece) => ({
    piece,
    left: edges[piece.left]! + margin,
    right: edges[piece.right]! - margin,
  }));
}

const groupBoxes = (placed: readonly Placed[], { tops }: UPlaces, lines: readonly number[]) =>
  placed.map(({ piece, left, right }) => {
    const pad = piece.level * GROUP_PAD;
    const inside = (lines[piece.top] ?? 0) * ARC_STEP;
    const y = tops[piece.top]! - inside - piece.level * GROUP_HEADER - (piece.level - 1) * GROUP_PAD;
    const height = tops[piece.bottom]! + CARD.height + pad - y;
    return { id: piece.group, x: left - pad, y, width: right - left + 2 * pad, height };
  });
