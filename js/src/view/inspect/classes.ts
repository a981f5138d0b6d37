/** A classifier's output: every class that was sent, as a bar. */
import { greatest, plural, precise } from "../../format";
import type { Picture } from "../../protocol";
import { type ReadonlySignal, type Signal, watch } from "../../state";
import { DECORATION, html, setAttributes, span } from "../dom";
import { onChoice } from "../events";
import { remade } from "../parts";
import type { Spot } from "./slice";

export type Classes = Extract<Picture, { kind: "classes" }>;

/** Shares with four digits behind the point, ".3812" or "<.0001"; other values precisely. */
export function classValue(value: number | null): string {
  if (value === null) return "–";
  if (value <= 0 || value > 1) return precise(value);
  return value < 0.0001 ? "<.0001" : value.toFixed(4).replace(/^0/, "");
}

/** Length of a bar, 0 to 1: shares as they are, other values against the greatest. */
export const barShare = (value: number | null, entries: Classes["entries"]): number =>
  Math.min(1, Math.abs(value ?? 0) / Math.max(1, greatest(entries)));

/** "softmax of 1,000 classes, the best 10 shown". */
export function classesText({ scale, count, entries }: Classes): string {
  const part = entries.length < count ? `, the best ${entries.length} shown` : "";
  return `${scale} of ${plural(count, "class", "classes")}${part}`;
}

export const className = (classes: Classes, index: number): string =>
  classes.entries.find((entry) => entry.index === index)?.name ?? "";

/** Choosing a class puts the crosshair of the raw values on its index. */
export function classList(classes: ReadonlySignal<Classes>, spot: Signal<Spot>, end: AbortSignal): HTMLElement {
  const make = () =>
    classes().entries.map(({ index, name, value }) => {
      const fill = span("i-class-fill");
      fill.style.width = `${barShare(value, classes().entries) * 100}%`;
      const label = span("i-class-name", { title: name }, name || `class ${index}`);
      const bar = span("i-class-bar", DECORATION, fill);
      const parts = [html("small.i-class-index", index), label, html("b", classValue(value)), bar];
      return html("li", html("button", { "data-index": index }, ...parts));
    });
  const list = remade(html("ol.i-classes"), make, end);
  watch(end, () => {
    const { column } = spot();
    for (const button of list.querySelectorAll<HTMLElement>("[data-index]"))
      setAttributes(button, { "data-here": Number(button.dataset.index) === column });
    classes();
  });
  onChoice(list, "index", (column) => spot.set({ row: 0, column }), end);
  return list;
}
