/** Which way each edge takes: out of one side of a card, along channels between the cards, into another side. */

import { Board } from "./board";
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

const KIND_ORDER = { main: 0, merge: 1, skip: 2 } as const;

export function routeAll(net: Net, grid: Grid, pieces: readonly Piece[]): Route[] {
  const router = new Router(net, grid, pieces);
  const bundle = bundles(net);
  const all = net.links.map((link, index) => ({
    index,
    ...bundle(link),
    link,
    from: { row: grid.row[link.source]!, column: grid.column[link.source]! },
    to: { row: grid.row[link.target]!, column: grid.column[link.target]! },
  }));
  const span = ({ from, to }: Ends): number =>
    Math.abs(to.row - from.row) * grid.columns + Math.abs(to.column - from.column);
  const ways = new Map<number, Way>();
  // Straight lines first: the rest has to keep out of their way. Short ones before long ones.
  const order = all
    .slice()
    .sort((a, b) => KIND_ORDER[a.link.kind] - KIND_ORDER[b.link.kind] || span(a) - span(b) || a.index - b.index);
  const later = order.filter((ends) => {
    const way = router.straight(ends);
    if (way) ways.set(ends.index, way);
    return !way;
  });
  for (const ends of later) ways.set(ends.index, router.way(ends));
  return all.map((ends) => named(ends.link, ends, ways.get(ends.index)!));
}

class Router {
  private readonly board: Board;
  private readonly leftTaken = new Set<number>();
  /** Kinds that leave a stage. */
  private readonly leaves: readonly ReadonlySet<Link["kind"]>[];

  constructor(
    net: Net,
    private readonly grid: Grid,
    private readonly pieces: readonly Piece[],
  ) {
    this.board = new Board(grid);
    this.leaves = net.out.map((links) => new Set(links.map((link) => link.kind)));
  }

  /** Port to port along the row, when nothing lies between. */
  straight({ link, from, to, bundle }: Ends): Way | null {
    if (from.row !== to.row || to.column <= from.column) return null;
    if (!this.board.free(from.row, from.column + 1, to.column - 1, bundle)) return null;
    this.board.reserve(from.row, from.column + 1, to.column - 1, bundle);
    this.leftTaken.add(link.target);
    return { exit: "right", entry: "left", steps: [] };
  }

  way(ends: Ends): Way {
    const { from, to } = ends;
    const bands = this.grid.band[to.row]! - this.grid.band[from.row]!;
    if (bands > 0) return this.toLaterBand(ends);
    if (bands < 0) return this.upwards(ends);
    if (from.row === to.row) return this.alongRow(ends);
    return from.row < to.row ? this.toLowerLane(ends) : this.toUpperLane(ends);
  }

  private alongRow({ link, from, to }: Ends): Way {
    if (link.kind === "main" && to.column > from.column) {
      return { exit: "right", entry: "top", steps: [v(from.column + 1), h(to.row)] };
    }
    const level = sharedLevel(this.pieces, from.row, from.column, to.column);
    return { exit: "top", entry: "top", steps: [h(from.row, level)] };
  }

  private toLowerLane(ends: Ends): Way {
    const { link, from, to } = ends;
    if (link.kind === "main") {
      const direct = this.throughGap(ends);
      if (direct) return direct;
    }
    if (this.leavesRight(link)) return { exit: "right", entry: "top", steps: [v(from.column + 1), h(to.row)] };
    if (to.row === from.row + 1) return { exit: "bottom", entry: "top", steps: [h(to.row)] };
    return { exit: "bottom", entry: "top", steps: [h(from.row + 1), v(this.sideOf(ends)), h(to.row)] };
  }

  private toUpperLane(ends: Ends): Way {
    const { link, from, to, bundle } = ends;
    if (link.kind === "main") {
      const direct = this.throughGap(ends);
      if (direct) return direct;
    }
    const ahead = to.column > from.column;
    if (this.grid.folded.has(link.source)) {
      return { exit: "bottom", entry: "bottom", steps: [h(from.row + 1), v(to.column), h(to.row + 1)] };
    }
    if (this.leavesRight(link)) {
      if (
        ahead &&
        this.board.free(from.row, from.column + 1, to.column, bundle) &&
        this.board.clear(to.column, to.row + 1, from.row)
      ) {
        this.board.reserve(from.row, from.column + 1, to.column, bundle);
        return { exit: "right", entry: "bottom", steps: [] };
      }
      const along = ahead && this.board.free(from.row, from.column + 1, to.column - 1, bundle);
      if (along) this.board.reserve(from.row, from.column + 1, to.column - 1, bundle);
      return { exit: "right", entry: "bottom", steps: [v(along ? to.column : from.column + 1), h(to.row + 1)] };
    }
    return this.upwards(ends);
  }

  private upwards(ends: Ends): Way {
    const { from, to } = ends;
    if (to.row + 1 === from.row) return { exit: "top", entry: "bottom", steps: [h(from.row)] };
    return { exit: "top", entry: "bottom", steps: [h(from.row), v(this.sideOf(ends)), h(to.row + 1)] };
  }

  /** The return edge: right, down, back in the gutter over the target's band, down, in from the left. */
  private toLaterBand(ends: Ends): Way {
    const { link, from, to } = ends;
    if (link.kind === "main" && !this.leftTaken.has(link.target)) {
      this.leftTaken.add(link.target);
      return {
        exit: "right",
        entry: "left",
        steps: [v(from.column + 1), h(this.grid.firstRow[to.row]!), v(to.column)],
      };
    }
    if (this.leavesRight(link)) return { exit: "right", entry: "top", steps: [v(from.column + 1), h(to.row)] };
    if (to.row === from.row + 1) return { exit: "bottom", entry: "top", steps: [h(to.row)] };
    return { exit: "bottom", entry: "top", steps: [h(from.row + 1), v(this.sideOf(ends)), h(to.row)] };
  }

  /** To another lane through one gap, the earliest that both rows leave free. */
  private throughGap({ link, from, to, bundle }: Ends): Way | null {
    if (this.leftTaken.has(link.target)) return null;
    for (let gap = from.column + 1; gap <= to.column; gap++) {
      if (!this.board.free(from.row, from.column + 1, gap - 1, bundle)) return null;
      if (!this.board.free(to.row, gap, to.column - 1, bundle)) continue;
      this.board.reserve(from.row, from.column + 1, gap - 1, bundle);
      this.board.reserve(to.row, gap, to.column - 1, bundle);
      this.leftTaken.add(link.target);
      return { exit: "right", entry: "left", steps: [v(gap)] };
    }
    return null;
  }

  /** The right port belongs to one kind: the main edges', else the merges', else the skips'. */
  private leavesRight(link: Link): boolean {
    const kinds = this.leaves[link.source]!;
    return link.kind === "main" || (!kinds.has("main") && (link.kind === "merge" || !kinds.has("merge")));
  }

  /** The gap beside the source, towards the target; beside the target where lines join. */
  private sideOf({ from, to, joins }: Ends): number {
    if (joins) return from.column < to.column ? to.column : to.column + 1;
    return to.column < from.column ? from.column : from.column + 1;
  }
}

/** In a single column: straight down to the next card, else round the side, main edges on the left. */
export function columnRoutes(net: Net): Route[] {
  const bundle = bundles(net);
  return net.links.map((link) => {
    if (link.target === link.source + 1) return named(link, bundle(link), { exit: "bottom", entry: "top", steps: [] });
    const side = link.kind === "main" ? "left" : "right";
    return named(link, bundle(link), { exit: side, entry: side, steps: [v(side === "left" ? 0 : 1)] });
  });
}
