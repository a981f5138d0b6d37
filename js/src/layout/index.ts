/** A stage graph -> boxes and lines. Pure: the same graph and options give the same layout. */

import { downwards, layered } from "./layered";
import { CARDS, COLUMN_BELOW, LARGE_FROM, LARGE_SCALE, MARGIN, MAX_HEIGHT } from "./metrics";
import { net } from "./net";
import type { Layout, LayoutGraph, LayoutOptions } from "./types";
import { uLayout } from "./ulayout";

export { CARDS } from "./metrics";
export type * from "./types";

export function layout(graph: LayoutGraph, options: LayoutOptions): Layout {
  const canvas = { width: options.width, height: options.maxHeight ?? MAX_HEIGHT };
  const size = options.card === "large" ? "large" : "small";
  const found = net(graph);
  if (found.stages.length === 0) {
    const empty = { cards: [], groups: [], edges: [] };
    return { mode: "row", size, scale: 1, width: 2 * MARGIN, height: 2 * MARGIN, ...empty };
  }
  if (canvas.width < COLUMN_BELOW) return downwards(found, graph.groups, CARDS[size], canvas);
  const u = uLayout(found, graph.groups, canvas);
  if (u) return u;
  if (options.card === "auto" && canvas.width >= LARGE_FROM) {
    const large = layered(found, graph.groups, CARDS.large, canvas);
    if (large.scale >= LARGE_SCALE) return large;
  }
  return layered(found, graph.groups, CARDS[size], canvas);
}
