/** Rows that read left to right (one row, or several), and the single column of a narrow canvas. */

import { times } from "../lists";
import { assignTracks } from "./channels";
import { drawing } from "./drawing";
import { type Frame, makeFrame } from "./frame";
import { type Grid, makeGrid } from "./grid";
import type { LabelKind } from "./labels";
import { corners, type Lines, NO_LINES, type Scene } from "./lines";
import { type CardMetrics, scaleToFit } from "./metrics";
import type { Net } from "./net";
import { groupPieces } from "./pieces";
import { spreadPorts } from "./ports";
import { columnRoutes, type Route, routeAll, type Side } from "./routes";
import { groupTree } from "./tree";
import type { Layout, LayoutGroup } from "./types";

export interface Canvas {
  readonly width: number;
  readonly height: number;
}

export interface Plan extends Pick<Scene, "grid" | "card" | "pieces"> {
  /** The scale can only come out smaller: lines take room. */
  readonly mostScale: number;
}

/** Where the cards go, before any line is drawn. */
export function plan(net: Net, groups: readonly LayoutGroup[], card: CardMetrics, canvas: Canvas): Plan {
  const grid = makeGrid(net, groups, card, canvas);
  const pieces = groupPieces({ ...grid, last: grid.column }, groupTree(net.stages, groups));
  const bare = makeFrame(grid, card, pieces, NO_LINES.channels, 0);
  return { grid, card, pieces, mostScale: scaleToFit(bare.width, bare.height, canvas) };
}

export function layered(net: Net, { grid, card, pieces }: Plan, canvas: Canvas): Layout {
  const scene = { grid, card, pieces, routes: routeAll(net, grid, pieces) };
  const { frame, lines } = settle(scene, (side) => side === "top" || side === "bottom");
  const scale = scaleToFit(frame.width, frame.height, canvas);
  const slack = Math.max(0, (canvas.width / scale - frame.width) / Math.max(1, grid.columns - 1));
  const loose = makeFrame(grid, card, pieces, lines.channels, slack);
  return { mode: grid.bands > 1 ? "wrap" : "row", scale, ...finish(net, scene, loose, lines) };
}

/** One card below the other, in order of execution. Only the width matters: the canvas pans downwards. */
export function downwards(net: Net, groups: readonly LayoutGroup[], card: CardMetrics, canvas: Canvas): Layout {
  const grid = columnGrid(net.stages.length);
  const pieces = groupPieces({ ...grid, last: grid.column }, groupTree(net.stages, groups));
  const scene = { grid, card, pieces, routes: columnRoutes(net) };
  const { frame, lines } = settle(scene, () => true);
  const scale = scaleToFit(frame.width, frame.height, { width: canvas.width, height: Number.POSITIVE_INFINITY });
  return { mode: "column", scale, ...finish(net, scene, frame, lines) };
}

function columnGrid(rows: number): Grid {
  const row = times(rows, (index) => index);
  const zero = row.map(() => 0);
  return { rows, columns: 1, row, column: zero, cell: row, band: zero, firstRow: zero, bands: 1, folded: new Set() };
}

/** Lines need room, and room moves lines: the second round orders them where they really are. */
function settle(scene: Scene, spread: (side: Side) => boolean): { frame: Frame; lines: Lines } {
  const { grid, card, pieces } = scene;
  let frame = makeFrame(grid, card, pieces, NO_LINES.channels, 0);
  let lines: Lines = { ...NO_LINES, ports: spreadPorts(scene, frame, NO_LINES, spread) };
  for (let round = 0; round < 2; round++) {
    lines = assignTracks(scene, frame, lines);
    frame = makeFrame(grid, card, pieces, lines.channels, 0);
  }
  return { frame, lines };
}

type Finished = Pick<Layout, "size" | "width" | "height" | "cards" | "groups" | "edges">;

function finish(net: Net, scene: Scene, frame: Frame, lines: Lines): Finished {
  const { grid, card, pieces, routes } = scene;
  const placeOf = (node: number) => {
    const [column, row] = [grid.column[node]!, grid.row[node]!];
    return { x: frame.x[column]!, y: frame.y[row]!, row };
  };
  const lined = routes.map((route) => ({
    link: route.link,
    joins: route.joins,
    points: corners(scene, frame, lines, route),
    label: labelOf(route),
  }));
  const boxes = pieces.map((piece) => ({ id: piece.group, ...frame.box(piece) }));
  const { width, height } = frame;
  return { width, height, ...drawing(net, card, placeOf, lined, boxes) };
}

/** Of a bundle only an edge's own run along a lane can carry a word. */
function labelOf({ link, steps, shared, exit, entry }: Route): LabelKind | null {
  if (link.kind === "main" || (exit === entry && (exit === "left" || exit === "right"))) return null;
  if (steps.length) return shared ? null : "on";
  return exit === "right" && (!shared || entry === "bottom") ? "start" : null;
}
