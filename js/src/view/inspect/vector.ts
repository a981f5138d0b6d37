/** Vectors: a bar per value, the bars around the chosen one larger, and the strongest values by index. */
import type { StageInfo } from "../../protocol";
import { type Values, colourTable, colourOf, cssColour } from "../../colour";
import { atEnd } from "../../ends";
import { precise } from "../../format";
import { computed, type ReadonlySignal, type Signal, signal, watch } from "../../state";
import { type Child, html, on, setAttributes } from "../dom";
import { copyLine } from "./copy";
import { codedOverview, type Leaf, scaleOf } from "./detail";
import { type Fact, facts, minusFacts } from "./facts";
import type { VectorLens } from "./lens";
import { remade } from "../parts";
import { moved } from "./plate";
import { profile } from "./profile";
import { expressionOf } from "./python";
import { askWhole, minusAt, type Reading, read } from "./reading";
import { scopeTitle, settle } from "./scope";
import { rankAmong, type Slice, type Spot, valueAt } from "./slice";

export interface VectorSource {
  readonly leaf: Leaf;
  readonly lens: VectorLens;
  readonly stage: StageInfo;
  /** Row 0; the column is the index. */
  readonly spot: Signal<Spot>;
  /** Where the crosshair starts: at the peak, if nothing else is said. */
  readonly first?: (slice: Slice) => Spot;
  /** Index under the pointer. */
  readonly hovered: Signal<number | null>;
  /** Name of an index, where it has one. */
  name(index: number): string;
}

const WIDTH = 413;
const DEPTH = 72;
/** Values in the larger window around the chosen one. */
const WINDOW = 41;
const STRONGEST = 8;

const asRow = (slice: Slice): Slice => ({
  ...slice,
  rows: 1,
  columns: slice.values.length,
  size: [1, slice.exact ? slice.values.length : slice.size[0] * slice.size[1]],
});

/** First index of the window of `WINDOW` values around `at`, within 0 … count. */
export const windowStart = (at: number, count: number): number =>
  Math.max(0, Math.min(count - WINDOW, at - Math.floor(WINDOW / 2)));

/** Indices of the greatest magnitudes, greatest first; ties by index, NaN left out. */
export function strongest(values: Values, most: number): number[] {
  const best: number[] = [];
  for (let i = 0; i < values.length; i++) {
    const size = Math.abs(values[i]!);
    if (Number.isNaN(size)) continue;
    let at = best.length;
    while (at > 0 && Math.abs(values[best[at - 1]!]!) < size) at--;
    if (at < most) best.splice(at, 0, i);
    if (best.length > most) best.pop();
  }
  return best;
}

/** Bars that pointer and arrow keys choose from; `start` is the index of the first. */
function barChart(
  source: VectorSource,
  reading: Reading,
  part: { readonly start: ReadonlySignal<number>; readonly count: number; readonly label: string },
  end: AbortSignal,
): HTMLElement {
  const { lens, spot, hovered } = source;
  const { start, count, label } = part;
  const values = computed(() => {
    const row = reading.row();
    // A pooled vector cannot be cut by index.
    return !row || count === lens.length || row.length !== lens.length ? row : row.subarray(start(), start() + count);
  });
  const at = computed(() => spot().column - start());
  const { limit } = reading;
  const bars = profile({ along: "row", length: WIDTH, depth: DEPTH, values, limit, at, count, label }, end);
  const figure = html("div.i-bars", { tabindex: 0, role: "application" }, bars);
  watch(end, () => setAttributes(figure, { "aria-label": `${label}: index ${spot().column}; arrow keys move` }));
  watch(end, () => setAttributes(figure, { "data-exact": reading.exact(), "data-waiting": !values() }));
  const under = (event: PointerEvent): number => {
    const { left, width } = figure.getBoundingClientRect();
    const index = start.peek() + Math.floor(((event.clientX - left) / (width || 1)) * count);
    return Math.max(0, Math.min(lens.length - 1, index));
  };
  const choose = (event: PointerEvent): void => spot.set({ row: 0, column: under(event) });
  const move = (event: PointerEvent): void => {
    // The window moves with the index, so that dragging in it would run away.
    if (event.buttons & 1 && count === lens.length) choose(event);
    hovered.set(under(event));
  };
  on<HTMLElement, PointerEvent>(figure, "pointerdown", (event) => event.button === 0 && choose(event), end);
  on<HTMLElement, PointerEvent>(figure, "pointermove", move, end);
  on(figure, "pointerleave", () => hovered.set(null), end);
  on<HTMLElement, KeyboardEvent>(
    figure,
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const next = moved(spot.peek(), event.key, event.shiftKey, [1, lens.length]);
      if (!next) return;
      event.preventDefault();
      event.stopPropagation();
      spot.set(next);
    },
    end,
  );
  return figure;
}

/** The strongest values as buttons that choose them. */
function strongestList(source: VectorSource, reading: Reading, end: AbortSignal): HTMLElement {
  const { leaf, spot, name } = source;
  const shown = computed(() => {
    const slice = reading.slice();
    return slice?.exact ? strongest(slice.values, STRONGEST) : [];
  });
  const make = (): Child[] => {
    const slice = reading.slice();
    const table = colourTable(leaf.context.view.theme());
    const scale = scaleOf(leaf, slice);
    return shown().map((index) => {
      const value = slice!.values[index]!;
      const swatch = html("span.i-dot", { "aria-hidden": "true" });
      swatch.style.background = cssColour(colourOf(value, scale, table));
      const parts = [swatch, html("span", name(index) || String(index)), html("b", precise(value))];
      return html("button", { "data-index": index }, ...parts);
    });
  };
  const list = remade(html("div.i-strongest"), make, end);
  on<HTMLElement, MouseEvent>(
    list,
    "click",
    (event) => {
      const index = (event.target as Element).closest<HTMLElement>("[data-index]")?.dataset.index;
      if (index !== undefined) spot.set({ row: 0, column: Number(index) });
    },
    end,
  );
  const title = html("p.i-muted", "strongest");
  const all = html("div", title, list);
  watch(end, () => {
    all.hidden = !shown().length;
  });
  return all;
}

function vectorFacts({ lens, name }: VectorSource, reading: Reading, { column }: Spot): Fact[] {
  const rows: Fact[] = [["index", `${column} of ${lens.length}`]];
  if (name(column)) rows.push(["name", name(column)]);
  const [value, slice] = [reading.value(), reading.slice()];
  if (value !== null && slice?.exact)
    rows.push(["rank", `${rankAmong(value, Array.from(slice.values))} of ${lens.length}`]);
  return rows;
}

/** Says to the readout what the pointer is on, else where the reader is, from a move in `body` until the focus leaves. */
function probe({ leaf, spot, hovered }: VectorSource, reading: Reading, body: HTMLElement, end: AbortSignal): void {
  const touched = signal(false);
  // The charts keep their keys to themselves, so they are heard on the way down.
  for (const type of ["pointerdown", "keydown"]) on(body, type, () => touched.set(true), end, { capture: true });
  on(body, "focusout", () => touched.set(false), end);
  const held = leaf.context.view.probe;
  let said = false;
  atEnd(end, () => {
    if (said) held.set(null);
  });
  watch(end, () => {
    const here = hovered() ?? (touched() ? spot().column : null);
    if (here === null) {
      if (said) held.set(null);
      said = false;
      return;
    }
    said = true;
    const [slice, at] = [reading.slice(), { row: 0, column: here }];
    const value = slice ? valueAt(slice, at) : null;
    const place = { stage: leaf.stage, leaf: leaf.name, part: "", position: [here], minus: minusAt(leaf, reading, at) };
    held.set({ ...place, value, exact: slice?.exact === true });
  });
}

export function vectorScope(given: Omit<VectorSource, "hovered">, end: AbortSignal): readonly Child[] {
  const source: VectorSource = { ...given, hovered: signal<number | null>(null) };
  const { leaf, lens, stage, spot } = source;
  const size = [1, lens.length] as const;
  const ask = computed(() => askWhole(leaf, size, {}));
  const coded = computed(() => codedOverview(leaf.summary(), null));
  const reading = read({ leaf, size, spot, ask, coded, derive: asRow }, end);
  settle(spot, reading.slice, end, source.first);
  const part = computed(() => `index ${spot().column}`);
  const scale = computed(() => scaleOf(leaf, reading.slice()));
  const list = computed(() => [...minusFacts(minusAt(leaf, reading, spot())), ...vectorFacts(source, reading, spot())]);
  const { value, exact, failure } = reading;
  const expression = computed(() => expressionOf(leaf, stage, { item: null, column: spot().column }));
  const body = html("div.i-vector");
  probe(source, reading, body, end);
  const whole = { start: signal(0), count: lens.length, label: "All values" };
  body.append(barChart(source, reading, whole, end));
  if (lens.length > 2 * WINDOW) {
    const start = computed(() => windowStart(spot().column, lens.length));
    body.append(barChart(source, reading, { start, count: WINDOW, label: "Values around it" }, end));
  }
  const { context } = leaf;
  const said = facts({ context, value, exact, scale, facts: list, failure }, end);
  body.append(html("div.i-vector-said", said, strongestList(source, reading, end)));
  return [scopeTitle(part, reading, end), body, copyLine(expression, end)];
}
