/** Room for the name of a group. */

import { GROUP_HEADER, GROUP_PAD } from "./metrics";
import type { Box, EdgePath } from "./types";

/** The name ends before the first line that comes down through it. */
export function headerOf(box: Box, edges: readonly EdgePath[]): Box {
  const x = box.x + GROUP_PAD;
  let end = box.x + box.width - GROUP_PAD;
  const bottom = box.y + GROUP_HEADER;
  for (const { points } of edges) {
    for (let index = 1; index < points.length; index++) {
      const [a, b] = [points[index - 1]!, points[index]!];
      if (a.x !== b.x || a.x <= x || Math.min(a.y, b.y) >= bottom || Math.max(a.y, b.y) <= box.y) continue;
      end = Math.min(end, a.x - GROUP_PAD);
    }
  }
  return { x, y: box.y, width: Math.max(0, end - x), height: GROUP_HEADER };
}
