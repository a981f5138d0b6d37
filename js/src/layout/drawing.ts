/** Places of cards and lines -> what is drawn of them. */

import { withHeaders } from "./headers";
import { type Labelled, placeLabels } from "./labels";
import type { CardMetrics } from "./metrics";
import type { Link, Net } from "./net";
import { drawEdge } from "./path";
import type { Box, Layout, Point } from "./types";

export interface Line extends Labelled {
  readonly link: Link;
  /** Shares its last stretch, not its first one, with other edges. */
  readonly joins?: boolean;
}

export function drawing(
  net: Net,
  { size, width, height, port }: CardMetrics,
  placeOf: (node: number) => Point & { readonly row: number },
  lines: readonly Line[],
  boxes: readonly (Box & { readonly id: string })[],
): Pick<Layout, "size" | "cards" | "edges" | "groups"> {
  const cards = net.stages.map(({ id }, node) => {
    const { x, y, row } = placeOf(node);
    return { id, x, y, width, height, port: { y: y + port, left: x, right: x + width }, row };
  });
  const labels = placeLabels(lines);
  const edges = lines.map(({ link, points, joins = false }, index) =>
    drawEdge({ id: link.id, points, label: labels[index]!, joins }),
  );
  return { size, cards, edges, groups: withHeaders(boxes, edges) };
}
