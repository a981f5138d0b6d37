/** A stage from far away: one tile, its name and its shape, all at the size that they have on screen. */

import { compactShape, greatest } from "../../format";
import type { ClassInfo, StageInfo, Summary } from "../../protocol";
import { rectAt } from "../../viewport";
import { type Child, svg, svgRect } from "../dom";
import { type CardStyle, steady } from "./card";
import { hatch } from "./marks";
import { drawTile } from "./picture";
import { type Font, fitText, label } from "./text";
import type { PictureStyle } from "./tiles";

/** Side of the tile, screen px. */
const SIDE = 22;
const HALF = SIDE / 2;
const FAR: Font = "600 10px code";
const SQUARE = rectAt(-HALF, -HALF, SIDE, SIDE);

/** The best classes as four bars. */
function miniBars(entries: readonly ClassInfo[]): SVGGElement {
  const most = greatest(entries);
  const bars = entries.slice(0, 4).map(({ value }, i) => {
    const width = Math.max(1, (Math.abs(value ?? 0) / most) * (SIDE - 6));
    return svgRect("bar", 3 - HALF, 4 - HALF + i * 4, width, 2.5);
  });
  return svg("g.class best", ...bars);
}

function farTile(summary: Summary | undefined, style: PictureStyle): SVGElement | null {
  if (!summary) return null;
  if (summary.picture.kind === "classes") return miniBars(summary.picture.entries);
  return drawTile(summary, SQUARE, style);
}

/** Children of a stage's element. */
export function drawFar(
  stage: StageInfo,
  summaries: readonly Summary[],
  card: CardStyle,
  style: PictureStyle,
): Child[] {
  const room = (card.card.width + 12) * card.k;
  const short = (text: string): string => fitText(text, room, card.measure, FAR);
  const { port, width, height, y } = card.card;
  const middle = steady(
    width / 2,
    port.y - y,
    svgRect("paper", -HALF, -HALF, SIDE, SIDE),
    farTile(summaries[0], style) ?? hatch(-HALF, -HALF, SIDE, SIDE, true),
    svgRect("frame far", -HALF - 0.5, -HALF - 0.5, SIDE + 1, SIDE + 1),
    label(0, -HALF - 6, short(stage.label), "name middle"),
    label(0, HALF + 13, short(compactShape(summaries[0]?.shape ?? stage.leaves[0]?.shape ?? [])), "range middle"),
  );
  // The whole card answers to the pointer, though little of it is seen.
  return [svg("rect.hit", { width, height }), middle];
}
