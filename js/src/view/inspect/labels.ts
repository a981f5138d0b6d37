/** Names of rows and columns along the sides of a plate. */
import { type ReadonlySignal, type Signal, watch } from "../../state";
import { DECORATION, html, setAttributes, svg } from "../dom";
import { onChoice } from "../events";
import type { Spot } from "./slice";

/** CSS px of a row that has room for its name. */
export const LABEL_HEIGHT = 11;
export const LABEL_WIDTH = 54;

/** A button for each row; pressing one moves the crosshair there. */
export function rowLabels(labels: readonly string[], spot: Signal<Spot>, end: AbortSignal): HTMLElement {
  const buttons = labels.map((text, row) =>
    html("button", { tabindex: -1, "data-row": row, title: `${row} “${text}”` }, text),
  );
  const list = html("ol.i-labels", ...buttons.map((button) => html("li", button)));
  watch(end, () => {
    for (const [row, button] of buttons.entries()) setAttributes(button, { "data-here": spot().row === row });
  });
  onChoice(list, "row", (row) => spot.set({ ...spot.peek(), row }), end);
  return list;
}

const HEIGHT = 46;

/** Slanted names above the columns of a plate `width` px wide. */
export function columnLabels(
  labels: readonly string[],
  width: number,
  spot: ReadonlySignal<Spot>,
  end: AbortSignal,
): SVGSVGElement {
  const texts = labels.map((text, column) => {
    const x = ((column + 0.5) * width) / labels.length + 3;
    const place = { x, y: HEIGHT - 3, transform: `rotate(-48 ${x} ${HEIGHT - 3})` };
    return svg("text.i-column-label", { ...place }, text);
  });
  watch(end, () => {
    for (const [column, text] of texts.entries()) setAttributes(text, { "data-here": spot().column === column });
  });
  return svg("svg.i-column-labels", { width, height: HEIGHT }, DECORATION, ...texts);
}
