/** Encoder and decoder whose skips nest like brackets: drawn as a U. */

import { placeLabels } from "./labels";
import type { Canvas } from "./layered";
import { fit, GROUP_HEADER, GROUP_PAD } from "./metrics";
import type { Net } from "./net";
import { drawEdge } from "./path";
import { groupPieces, type Piece } from "./pieces";
import { headerOf } from "./headers";
import { type GroupTree, groupTree } from "./tree";
import type { EdgePath, GroupBox, Layout, LayoutGroup } from "./types";
import { linesOver, linesOfU } from "./uedges";
import { CARD, placeU, type UPlaces } from "./uplace";
import { findU } from "./ushape";

/** Smaller than this a U shows no cards, and rows say more. */
const LEAST_SCALE = 0.45;

export function uLayout(net: Net, groups: readonly LayoutGroup[], canvas: Canvas): Layout | null {
  const shape = findU(net);
  if (!shape) return null;
  const tree = groupTree(net.stages, groups);
  const over = linesOver(shape);
  const bare = placeU(shape, { arcs: over.perRow, frames: [] }, canvas);
  const frames = framesPerRow(piecesOf(net, tree, bare));
  const places = placeU(shape, { arcs: over.perRow, frames }, canvas);
  const scale = fit(places.width, places.height, canvas);
  if (scale < LEAST_SCALE) return null;
  const cards = net.stages.map((stage, node) => {
    const { x, y } = places.at.get(node)!;
    const port = { y: y + CARD.port, left: x, right: x + CARD.width };
    return { id: stage.id, x, y, width: CARD.width, height: CARD.height, port, row: places.row.get(node)! };
  });
  const lines = linesOfU(net, shape, places, over);
  const labels = placeLabels(lines);
  const edges = lines.map(({ link, points }, index) =>
    drawEdge({ id: link.id, points, label: labels[index]!, joins: false }),
  );
  const boxes = groupBoxes(piecesOf(net, tree, places), places, edges);
  return { mode: "u", size: CARD.size, scale, width: places.width, height: places.height, cards, groups: boxes, edges };
}

interface Placed {
  readonly piece: Piece;
  readonly left: number;
  readonly right: number;
}

/** Columns are the places that cards start at. */
function piecesOf(net: Net, tree: GroupTree, places: UPlaces): Placed[] {
  const starts = [...new Set([...places.at.values()].map(({ x }) => x))].sort((a, b) => a - b);
  const row = net.stages.map((_, node) => places.row.get(node)!);
  const column = net.stages.map((_, node) => starts.indexOf(places.at.get(node)!.x));
  const rows = 1 + Math.max(...row);
  const cell = new Array<number>(rows * starts.length).fill(-1);
  net.stages.forEach((_, node) => {
    cell[row[node]! * starts.length + column[node]!] = node;
  });
  const zero = Array.from({ length: rows }, () => 0);
  const grid = {
    rows,
    columns: starts.length,
    row,
    column,
    cell,
    band: zero,
    firstRow: zero,
    bands: 1,
    folded: new Set<number>(),
  };
  return groupPieces(grid, tree).map((piece) => ({
    piece,
    left: starts[piece.left]!,
    right: starts[piece.right]! + CARD.width,
  }));
}

function framesPerRow(placed: readonly Placed[]): number[] {
  const frames: number[] = [];
  for (const { piece } of placed) {
    for (let row = 0; row <= piece.bottom + 1; row++) frames[row] ??= 0;
    frames[piece.top] = Math.max(frames[piece.top]!, piece.level);
  }
  return frames;
}

function groupBoxes(placed: readonly Placed[], places: UPlaces, edges: readonly EdgePath[]): GroupBox[] {
  return placed.map(({ piece, left, right }) => {
    const pad = piece.level * GROUP_PAD;
    const y = places.tops[piece.top]! - piece.level * GROUP_HEADER - (piece.level - 1) * GROUP_PAD;
    const height = places.tops[piece.bottom]! + CARD.height + pad - y;
    const box = { x: left - pad, y, width: right - left + 2 * pad, height };
    return { id: piece.group, ...box, header: headerOf(box, edges) };
  });
}
