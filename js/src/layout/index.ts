/** A stage graph -> boxes and lines. Pure: the same graph and options give the same layout. */

import { downwards, layered, plan } from "./layered";
import { CARDS, COLUMN_BELOW, LARGE_FROM, LARGE_SCALE, MARGIN, MAX_HEIGHT } from "./metrics";
import { net } from "./net";
import type { Layout, LayoutGraph, LayoutOptions } from "./types";
import { uLayout } from "./ulayout";

export { CARDS } from "./metrics";
export type * from "./types";

const MANY_ARCS = 3;

export function layout(graph: LayoutGraph, options: LayoutOptions): Layout {
  const canvas = { width: options.width, height: options.maxHeight ?? MAX_HEIGHT };
  const size = options.card === "large" ? "large" : "small";
  const found = net(graph);
  if (!found.stages.length) {
    const empty = { cards: [], groups: [], edges: [] };
    return { mode: "row", size, scale: 1, width: 2 * MARGIN, height: 2 * MARGIN, ...empty };
  }
  if (canvas.width < COLUMN_BELOW) return downwards(found, graph.groups, CARDS[size], canvas);
  const u = uLayout(found, graph.groups, canvas);
  if (u) return u;
  const small = (): Layout => layered(found, plan(found, graph.groups, CARDS.small, canvas), canvas);
  if (options.card === "small" || (options.card === "auto" && canvas.width < LARGE_FROM)) return small();
  const planned = plan(found, graph.groups, CARDS.large, canvas);
  if (options.card === "large") return layered(found, planned, canvas);
  if (planned.mostScale < LARGE_SCALE) return small();
  const large = layered(found, planned, canvas);
  if (large.scale < LARGE_SCALE) return small();
  // Arcs within one row read better than arcs between rows of larger cards.
  const arcs = found.links.filter((link) => link.kind !== "main").length;
  const other = large.mode === "wrap" && arcs >= MANY_ARCS ? small() : large;
  return other.mode === "row" ? other : large;
}
