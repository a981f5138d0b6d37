/** Vectors: a bar per value, the bars around the chosen one larger, and the strongest values by index. */
import { type Values, colourTable, colourOf, cssColour } from "../../colour";
import { precise } from "../../format";
import { computed, probing, type Signal, signal, untracked, watch } from "../../state";
import { type Child, DECORATION, div, html, setAttributes, span } from "../dom";
import { on, onChoice, onKeys, pointerOn } from "../events";
import { remade } from "../parts";
import { factsOf, framed, type Look } from "./closeup";
import { type Leaf, scaleOf } from "./detail";
import type { Fact } from "./facts";
import type { VectorLens } from "./lens";
import { moved } from "./plate";
import { profile } from "./profile";
import { minusAt, type Reading, read } from "./reading";
import { rankAmong, type Slice, type Spot, valueAt } from "./slice";

export interface VectorSource {
  readonly leaf: Leaf;
  readonly lens: VectorLens;
  /** Row 0; the column is the index. */
  readonly spot: Signal<Spot>;
  /** Where the crosshair starts: at the peak, if nothing else is said. */
  readonly find?: ((slice: Slice) => Spot) | undefined;
  /** Name of an index, where it has one. */
  name(index: number): string;
}

/** What the parts of a vector share. */
interface Shown extends VectorSource {
  readonly reading: Reading;
  /** Index under the pointer. */
  readonly hovered: Signal<number | null>;
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
  { lens, reading, spot, hovered }: Shown,
  label: string,
  count: number,
  start: () => number,
  end: AbortSignal,
): HTMLElement {
  const values = computed(() => {
    const row = reading.row();
    // A pooled vector cannot be cut by index.
    return row?.length === lens.length ? row.subarray(start(), start() + count) : row;
  });
  const at = (): number => spot().column - start();
  const { limit } = reading;
  const bars = profile({ along: "row", length: WIDTH, depth: DEPTH, values, limit, at, count, label }, end);
  const figure = div("i-bars", { tabindex: 0, role: "application" }, bars);
  watch(end, () => setAttributes(figure, { label: `${label}: index ${spot().column}; arrow keys move` }));
  watch(end, () => setAttributes(figure, { "data-exact": reading.exact(), "data-waiting": !values() }));
  const under = (event: PointerEvent): number => {
    const { x, width } = pointerOn(figure, event);
    return Math.max(0, Math.min(lens.length - 1, untracked(start) + Math.floor((x / width) * count)));
  };
  const choose = (event: PointerEvent): void => spot.set({ row: 0, column: under(event) });
  const move = (event: PointerEvent): void => {
    // The window moves with the index, so that dragging in it would run away.
    if (event.buttons & 1 && count === lens.length) choose(event);
    hovered.set(under(event));
  };
  const step = ({ key, shiftKey }: KeyboardEvent): boolean => {
    const next = moved(spot.peek(), key, shiftKey, [1, lens.length]);
    if (next) spot.set(next);
    return next !== null;
  };
  on<PointerEvent>(figure, "pointerdown", (event) => event.button === 0 && choose(event), end);
  on(figure, "pointermove", move, end);
  on(figure, "pointerleave", () => hovered.set(null), end);
  onKeys(figure, step, end);
  return figure;
}

/** The strongest values as buttons that choose them. */
function strongestList({ leaf, spot, name, reading }: Shown, end: AbortSignal): HTMLElement {
  const make = (): Child[] => {
    const slice = reading.slice();
    const table = colourTable(leaf.context.view.theme());
    const scale = scaleOf(leaf, slice);
    const shown = slice?.exact ? strongest(slice.values, STRONGEST) : [];
    all.hidden = !shown.length;
    return shown.map((index) => {
      const value = slice!.values[index]!;
      const swatch = span("i-dot", DECORATION);
      swatch.style.background = cssColour(colourOf(value, scale, table));
      const words = html("span", name(index) || index);
      return html("button", { "data-index": index }, swatch, words, html("b", precise(value)));
    });
  };
  const list = div("i-strongest");
  const all = html("div", html("p.i-muted", "strongest"), list);
  onChoice(remade(list, make, end), "index", (column) => spot.set({ row: 0, column }), end);
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
function probe({ leaf, spot, hovered, reading }: Shown, body: HTMLElement, end: AbortSignal): void {
  const touched = signal(false);
  // The charts keep their keys to themselves, so they are heard on the way down.
  for (const type of ["pointerdown", "keydown"]) on(body, type, () => touched.set(true), end, { capture: true });
  on(body, "focusout", () => touched.set(false), end);
  const say = probing(leaf.context.view, end);
  watch(end, () => {
    const column = hovered() ?? (touched() ? spot().column : null);
    if (column === null) return say(null);
    const [slice, at] = [reading.slice(), { row: 0, column }];
    say({
      stage: leaf.stage.id,
      leaf: leaf.name,
      part: "",
      position: [column],
      value: slice && valueAt(slice, at),
      exact: !!slice?.exact,
      minus: minusAt(leaf, reading, at),
    });
  });
}

export function vectorScope(source: VectorSource, end: AbortSignal): readonly Child[] {
  const { lens, spot } = source;
  const size = [1, lens.length] as const;
  const look: Look = {
    ...source,
    size,
    derived: { size, derive: asRow },
    part: () => `index ${spot().column}`,
    ask: () => ({}),
    facts: (reading) => vectorFacts(source, reading, spot()),
    cut: () => ({ item: null, column: spot().column }),
  };
  const reading = read(look, end);
  const shown: Shown = { ...source, reading, hovered: signal<number | null>(null) };
  const start = (): number => windowStart(spot().column, lens.length);
  const body = div(
    "i-vector",
    barChart(shown, "All values", lens.length, () => 0, end),
    lens.length > 2 * WINDOW && barChart(shown, "Values around it", WINDOW, start, end),
    div("i-vector-said", factsOf(look, reading, end), strongestList(shown, end)),
  );
  probe(shown, body, end);
  return framed(look, reading, end, body);
}
