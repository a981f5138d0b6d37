/** Which way each edge takes: out of one side of a card, along channels between the cards, into another side. */

import { KIND_RANK } from "../graph";
import { board } from "./board";
import { type Bundle, bundles } from "./bundles";
import type { Grid } from "./grid";
import type { Link, Net } from "./net";
import { type Piece, sharedLevel } from "./pieces";

export type Side = "left" | "right" | "top" | "bottom";

/** A channel: "v" is the gap before a column, "h" the gutter above a row; `level` > 0 is inside a group's frame. */
export interface Step {
  readonly axis: "v" | "h";
  readonly index: number;
  readonly level: number;
}

export interface Way {
  readonly exit: Side;
  readonly entry: Side;
  /** Axes alternate. */
  readonly steps: readonly Step[];
}

export interface Route extends Way, Bundle {
  readonly link: Link;
  /** Names of the channels that the steps lie in, and of the line's place in each. */
  readonly channels: readonly string[];
  readonly places: readonly string[];
  readonly exitPort: string;
  readonly entryPort: string;
}

export const keyOf = ({ axis, index, level }: Step): string => `${axis}${index}.${level}`;

function named(link: Link, { bundle, joins, shared }: Bundle, way: Way): Route {
  const channels = way.steps.map(keyOf);
  return {
    link,
    bundle,
    joins,
    shared,
    ...way,
    channels,
    places: channels.map((channel) => `${channel} ${bundle}`),
    exitPort: `${link.source} ${way.exit} ${bundle}`,
    entryPort: `${link.target} ${way.entry} ${bundle}`,
  };
}

export const v = (index: number): Step => ({ axis: "v", index, level: 0 });
export const h = (index: number, level = 0): Step => ({ axis: "h", index, level });

interface Ends extends Bundle {
  readonly link: Link;
  readonly from: { readonly row: number; readonly column: number };
  readonly to: { readonly row: number; readonly column: number };
}

const way = (exit: Side, entry: Side, ...steps: readonly Step[]): Way => ({ exit, entry, steps });

export function routeAll(net: Net, grid: Grid, pieces: readonly Piece[]): Route[] {
  const router = makeRouter(net, grid, pieces);
  const bundle = bundles(net);
  const place = (node: number) => ({ row: grid.row[node]!, column: grid.column[node]! });
  const all = net.links.map((link) => ({ ...bundle(link), link, from: place(link.source), to: place(link.target) }));
  const span = ({ from, to }: Ends): number =>
    Math.abs(to.row - from.row) * grid.columns + Math.abs(to.column - from.column);
  const ways = new Map<Ends, Way>();
  // Straight lines first: the rest has to keep out of their way. Short ones before long ones.
  const order = [...all].sort((a, b) => KIND_RANK[a.link.kind] - KIND_RANK[b.link.kind] || span(a) - span(b));
  for (const find of [router.straight, router.way])
    for (const ends of order) {
      const found = ways.get(ends) ?? find(ends);
      if (found) ways.set(ends, found);
    }
  return all.map((ends) => named(ends.link, ends, ways.get(ends)!));
}

interface Router {
  /** Port to port along the row, when nothing lies between. */
  straight(ends: Ends): Way | null;
  way(ends: Ends): Way;
}

function makeRouter(net: Net, grid: Grid, pieces: readonly Piece[]): Router {
  const { take, clear } = board(grid);
  const leftTaken = new Set<number>();
  /** Kinds that leave a stage. */
  const leaves = net.out.map((links) => new Set(links.map((link) => link.kind)));

  /** The right port belongs to one kind: the main edges', else the merges', else the skips'. */
  const leavesRight = ({ kind, source }: Link): boolean => {
    const kinds = leaves[source]!;
    return kind === "main" || (!kinds.has("main") && (kind === "merge" || !kinds.has("merge")));
  };

  /** The gap beside the source, towards the target; beside the target where lines join. */
  const sideOf = ({ from, to, joins }: Ends): number => {
    if (joins) return from.column < to.column ? to.column : to.column + 1;
    return to.column < from.column ? from.column : from.column + 1;
  };

  const alongRow = ({ link, from, to }: Ends): Way =>
    link.kind === "main" && to.column > from.column
      ? way("right", "top", v(from.column + 1), h(to.row))
      : way("top", "top", h(from.row, sharedLevel(pieces, from.row, from.column, to.column)));

  const upwards = (ends: Ends): Way => {
    const { from, to } = ends;
    if (to.row + 1 === from.row) return way("top", "bottom", h(from.row));
    return way("top", "bottom", h(from.row), v(sideOf(ends)), h(to.row + 1));
  };

  const downwards = (ends: Ends): Way => {
    const { link, from, to } = ends;
    if (leavesRight(link)) return way("right", "top", v(from.column + 1), h(to.row));
    if (to.row === from.row + 1) return way("bottom", "top", h(to.row));
    return way("bottom", "top", h(from.row + 1), v(sideOf(ends)), h(to.row));
  };

  /** To another lane through one gap, the earliest that both rows leave free. */
  const throughGap = ({ link, from, to, bundle }: Ends): Way | null => {
    if (link.kind !== "main" || leftTaken.has(link.target)) return null;
    for (let gap = from.column + 1; gap <= to.column; gap++) {
      if (!take(bundle, [from.row, from.column + 1, gap - 1], [to.row, gap, to.column - 1])) continue;
      leftTaken.add(link.target);
      return way("right", "left", v(gap));
    }
    return null;
  };

  const toUpperLane = (ends: Ends): Way => {
    const { link, from, to, bundle } = ends;
    const ahead = to.column > from.column;
    if (grid.folded.has(link.source)) return way("bottom", "bottom", h(from.row + 1), v(to.column), h(to.row + 1));
    if (!leavesRight(link)) return upwards(ends);
    const [start, end] = [from.column + 1, to.column];
    if (ahead && clear(end, to.row + 1, from.row) && take(bundle, [from.row, start, end]))
      return way("right", "bottom");
    const along = ahead && take(bundle, [from.row, start, end - 1]);
    return way("right", "bottom", v(along ? end : start), h(to.row + 1));
  };

  /** The return edge: right, down, back in the gutter over the target's band, down, in from the left. */
  const toLaterBand = (ends: Ends): Way => {
    const { link, from, to } = ends;
    if (link.kind !== "main" || leftTaken.has(link.target)) return downwards(ends);
    leftTaken.add(link.target);
    return way("right", "left", v(from.column + 1), h(grid.firstRow[to.row]!), v(to.column));
  };

  return {
    straight({ link, from, to, bundle }) {
      if (from.row !== to.row || to.column <= from.column) return null;
      if (!take(bundle, [from.row, from.column + 1, to.column - 1])) return null;
      leftTaken.add(link.target);
      return way("right", "left");
    },
    way(ends) {
      const { from, to } = ends;
      const bands = grid.band[to.row]! - grid.band[from.row]!;
      if (bands > 0) return toLaterBand(ends);
      if (bands < 0) return upwards(ends);
      if (from.row === to.row) return alongRow(ends);
      return throughGap(ends) ?? (from.row < to.row ? downwards(ends) : toUpperLane(ends));
    },
  };
}

/** In a single column: straight down to the next card, else round the side, main edges on the left. */
export function columnRoutes(net: Net): Route[] {
  const bundle = bundles(net);
  return net.links.map((link) => {
    if (link.target === link.source + 1) return named(link, bundle(link), way("bottom", "top"));
    const side = link.kind === "main" ? "left" : "right";
    return named(link, bundle(link), way(side, side, v(side === "left" ? 0 : 1)));
  });
}
