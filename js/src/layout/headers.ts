/** Room for the names of groups. */

import { GROUP_HEADER, GROUP_PAD } from "./metrics";
import { uprights } from "./path";
import type { Box, EdgePath, GroupBox } from "./types";

/** A name ends before the first line that comes down through it. */
export function withHeaders(boxes: readonly (Box & { readonly id: string })[], edges: readonly EdgePath[]): GroupBox[] {
  if (!boxes.length) return [];
  const lines = edges.flatMap(({ points }) => uprights(points));
  return boxes.map((box) => {
    const x = box.x + GROUP_PAD;
    let end = box.x + box.width - GROUP_PAD;
    for (const line of lines) {
      const inWay = line.x > x && line.top < box.y + GROUP_HEADER && line.bottom > box.y;
      if (inWay) end = Math.min(end, line.x - GROUP_PAD);
    }
    return { ...box, header: { x, y: box.y, width: Math.max(0, end - x), height: GROUP_HEADER } };
  });
}
