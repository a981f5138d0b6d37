/** Where one query looks: an arc to each key, as wide as its weight. */
import { times } from "../../lists";
import { px } from "../../format";
import { type ReadonlySignal, type Signal, watch } from "../../state";
import { DECORATION, div, figure, html, setAttributes, setChildren, svgPath } from "../dom";
import { onChoice } from "../events";
import { muted } from "../parts";
import type { Reading } from "./reading";
import type { Spot } from "./slice";

export interface ArcsSource {
  readonly reading: Reading;
  readonly spot: Signal<Spot>;
  /** Of the keys; may be empty. */
  readonly labels: ReadonlySignal<readonly string[]>;
  readonly count: number;
}

const WIDTH = 413;
const TOP = 84;
const WIDEST = 8;
/** More keys than this leave no room for their names. */
export const MOST_KEYS = 64;
/** Up to so many keys their weights are written beneath them. */
const WITH_WEIGHTS = 16;
/** Under this weight an arc is not drawn. */
const FAINT = 0.01;

/** The arcs of a row of weights: paths with widths, the strongest last so that it lies on top. */
export function arcsOf(
  weights: ArrayLike<number>,
  query: number,
  count: number,
): { key: number; d: string; width: number }[] {
  const x = (index: number): number => ((index + 0.5) * WIDTH) / count;
  const drawn = times(Math.min(count, weights.length), (key) => ({ key, weight: weights[key]! }))
    .filter(({ weight }) => weight >= FAINT)
    .sort((a, b) => a.weight - b.weight || a.key - b.key);
  return drawn.map(({ key, weight }) => {
    const [from, to] = [x(query), x(key)];
    const width = Math.max(0.75, Math.min(1, weight) * WIDEST);
    const height = key === query ? 14 : 14 + (Math.abs(from - to) / WIDTH) * (TOP - 22);
    const lean = key === query ? 9 : 0;
    const top = TOP - height * 1.3;
    const d = px`M${from} ${TOP}C${from - lean} ${top} ${to + lean} ${top} ${to} ${TOP}`;
    return { key, d, width };
  });
}

const weightText = (weight: number | undefined): string =>
  weight === undefined || Number.isNaN(weight) ? "" : weight.toFixed(2).replace(/^0/, "");

/** Keys are told apart by name and weight where there is room, else by place alone. Null for too many. */
export function arcs(source: ArcsSource, end: AbortSignal): HTMLElement | null {
  const { reading, spot, labels, count } = source;
  if (count > MOST_KEYS) return null;
  const drawn = figure("svg.i-arcs-drawn", WIDTH, TOP, DECORATION);
  const buttons = times(count, (key) => html("button", { "data-key": key }, html("span"), html("small")));
  const keys = div("i-keys", ...buttons);
  const heading = html("p.i-from");
  watch(end, () => {
    const { row, column } = spot();
    const weights = reading.row() ?? [];
    setChildren(
      drawn,
      arcsOf(weights, row, count).map(({ key, d, width }) =>
        svgPath("i-arc", d, { "stroke-width": width, "data-here": key === column }),
      ),
    );
    const name = labels()[row];
    const from = html("b", name === undefined ? `from query ${row}` : `from “${name}” at ${row}`);
    setChildren(heading, [from, muted("line width = weight")]);
    for (const [key, button] of buttons.entries()) {
      const text = labels()[key] ?? String(key);
      const weight = weightText(weights[key]);
      button.firstElementChild!.textContent = text;
      button.lastElementChild!.textContent = count <= WITH_WEIGHTS ? weight : "";
      const title = `key ${key} “${text}”: ${weight}`;
      setAttributes(button, { "data-here": key === column, "data-query": key === row, title });
    }
  });
  onChoice(keys, "key", (column) => spot.set({ ...spot.peek(), column }), end);
  return div("i-arcs", heading, drawn, keys);
}
