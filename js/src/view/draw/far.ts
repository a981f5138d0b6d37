/** A stage from far away: one tile, its name and its shape, all at the size that they have on screen. */

import { compactShape } from "../../format";
import type { StageInfo, Summary } from "../../protocol";
import { type Child, svg } from "../dom";
import { type CardStyle, steady } from "./card";
import { hatch } from "./marks";
import { drawTile } from "./picture";
import { fitText, label } from "./text";
import type { PictureStyle } from "./tiles";

/** Side of the tile, screen px. */
const SIDE = 22;
const HALF = SIDE / 2;
const SQUARE = { x: -HALF, y: -HALF, width: SIDE, height: SIDE };

/** The best classes as four bars. */
function miniBars(values: readonly (number | null)[]): SVGGElement {
  const most = Math.max(1e-12, ...values.map((value) => Math.abs(value ?? 0)));
  const bars = values.slice(0, 4).map((value, i) => {
    const width = Math.max(1, (Math.abs(value ?? 0) / most) * (SIDE - 6));
    return svg("rect.nf-bar", { x: 3 - HALF, y: 4 - HALF + i * 4, width: width.toFixed(2), height: 2.5 });
  });
  return svg("g.nf-class nf-best", ...bars);
}

function farTile(summary: Summary | undefined, style: PictureStyle): SVGElement | null {
  if (!summary) return null;
  if (summary.picture.kind === "classes") return miniBars(summary.picture.entries.map((entry) => entry.value));
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
  const short = (text: string): string => fitText(text, room, (t) => card.measure(t, "code", 10, 600));
  const { port, width, height, y } = card.card;
  const middle = steady(
    width / 2,
    port.y - y,
    svg("rect.nf-paper", { ...SQUARE }),
    farTile(summaries[0], style) ?? hatch(SQUARE.x, SQUARE.y, SIDE, SIDE, true),
    svg("rect.nf-frame nf-far", { x: -HALF - 0.5, y: -HALF - 0.5, width: SIDE + 1, height: SIDE + 1 }),
    label(0, -HALF - 6, short(stage.label), { class: "nf-name", "text-anchor": "middle" }),
    label(0, HALF + 13, short(compactShape(summaries[0]?.shape ?? stage.leaves[0]?.shape ?? [])), {
      class: "nf-range",
      "text-anchor": "middle",
    }),
  );
  // The whole card answers to the pointer, though little of it is seen.
  return [svg("rect.nf-hit", { width, height }), middle];
}
