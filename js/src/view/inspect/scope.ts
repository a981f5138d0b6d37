/** One slice under the crosshair: the plate, its row and column, the value and what can be said about it. */
import type { Scale } from "../../colour";
import { atEnd } from "../../ends";
import { brief } from "../../format";
import { computed, type ReadonlySignal, type Signal, signal, watch } from "../../state";
import { type Child, html } from "../dom";
import { type Leaf, scaleOf } from "./detail";
import { type Fact, facts, minusFacts } from "./facts";
import { live } from "../parts";
import { plate } from "./plate";
import { profile } from "./profile";
import { minusAt, type Reading } from "./reading";
import { momentsOf, peakOf, type Slice, type Spot, valueAt } from "./slice";

export interface ScopeSource {
  readonly leaf: Leaf;
  readonly reading: Reading;
  readonly size: readonly [number, number];
  /** Width and height of the plate, CSS px. */
  readonly box: readonly [number, number];
  readonly spot: Signal<Spot>;
  /** "ch 21": short name of the slice. */
  readonly part: ReadonlySignal<string>;
  /** What rows and columns are called: "y" and "x". */
  readonly names: readonly [string, string];
  readonly facts: ReadonlySignal<readonly Fact[]>;
  /** Indices of a spot into the slice, as the readout says them. */
  position(spot: Spot): readonly number[];
  /** Beside the plate, above the row profile, left of it, under the facts. */
  readonly extras?: { readonly above?: Child; readonly left?: Child; readonly under?: Child };
  /** Facts beneath the plate, which is as wide as the panel. */
  readonly wide?: boolean;
  /** A row is looked at, not a cross: no profiles, and a frame around the row. */
  readonly rowOnly?: boolean;
}

const COLUMN_DEPTH = 40;
const ROW_DEPTH = 26;

/** "min −19.7 max 31.7 mean 1.97", with "≈" where the slice is not exact. */
function rangeText(slice: Slice | null): string {
  if (!slice) return "";
  const { min, max, mean } = momentsOf(slice.values);
  return `${slice.exact ? "" : "≈ "}min ${brief(min)} max ${brief(max)} mean ${brief(mean)}`;
}

/**
 * Puts the crosshair where `find` says, at first the peak of what is known, until the reader moves it. It then stays in
 * its place while channels and frames change, so that they can be compared there.
 */
export function settle(
  spot: Signal<Spot>,
  slice: ReadonlySignal<Slice | null>,
  end: AbortSignal,
  find: (slice: Slice) => Spot = peakOf,
): void {
  let settled = false;
  let ours = spot.peek();
  watch(end, () => {
    if (spot() !== ours) settled = true;
  });
  watch(end, () => {
    const shown = slice();
    if (settled || !shown) return;
    settled = shown.exact;
    ours = find(shown);
    spot.set(ours);
  });
}

/** Says to the readout what the pointer or the crosshair of the plate is on. */
function probe(source: ScopeSource, hovered: ReadonlySignal<Spot | null>, end: AbortSignal): void {
  const { leaf, reading, part, spot } = source;
  const held = leaf.context.view.probe;
  let said = false;
  atEnd(end, () => {
    if (said) held.set(null);
  });
  watch(end, () => {
    const here = hovered();
    if (!here) {
      if (said) held.set(null);
      said = false;
      return;
    }
    said = true;
    const crossed = here.row === spot().row && here.column === spot().column;
    const slice = reading.slice();
    held.set({
      stage: leaf.stage,
      leaf: leaf.name,
      part: part(),
      position: source.position(here),
      value: crossed ? reading.value() : slice ? valueAt(slice, here) : null,
      exact: crossed ? reading.exact() : slice?.exact === true,
      minus: minusAt(leaf, reading, here),
    });
  });
}

/** The two values under the crosshair before what else is known of it. */
const withMinus = ({ leaf, reading, spot, facts }: ScopeSource): ReadonlySignal<readonly Fact[]> =>
  computed(() => [...minusFacts(minusAt(leaf, reading, spot())), ...facts()]);

export function scope(source: ScopeSource, end: AbortSignal): HTMLElement {
  const { leaf, reading, size, box, spot, part, names } = source;
  const hovered = signal<Spot | null>(null);
  const scale = computed<Scale>(() => scaleOf(leaf, reading.slice()));
  const label = computed(
    () =>
      `${part()}, ${size[0]} by ${size[1]}: ${names[0]} ${spot().row}, ${names[1]} ${spot().column}; arrow keys move`,
  );
  const hover = (here: Spot | null): void => hovered.set(here);
  const rowFrame = source.rowOnly === true;
  const figure = plate(
    { context: leaf.context, size, box, slice: reading.slice, scale, spot, label, hover, rowFrame },
    end,
  );
  probe(source, hovered, end);
  const across = { length: box[0], depth: ROW_DEPTH, values: reading.row, limit: reading.limit, count: size[1] };
  const down = { length: box[1], depth: COLUMN_DEPTH, values: reading.column, limit: reading.limit, count: size[0] };
  const at = (side: keyof Spot): ReadonlySignal<number> => computed(() => spot()[side]);
  const row = profile({ ...across, along: "row", at: at("column"), label: "Values of the row" }, end);
  const column = profile({ ...down, along: "column", at: at("row"), label: "Values of the column" }, end);
  const { value, exact, failure } = reading;
  const said = facts({ context: leaf.context, value, exact, scale, facts: withMinus(source), failure }, end);
  const { above, left, under } = source.extras ?? {};
  const slot = (name: string, ...children: Child[]): HTMLElement => html(`div.i-slot-${name}`, ...children);
  return html(
    "div.i-scope",
    { "data-wide": source.wide === true, "data-row": source.rowOnly === true },
    above && slot("above", above),
    left && slot("left", left),
    slot("plate", figure),
    ...(source.rowOnly ? [] : [slot("column", column), slot("row", row)]),
    slot("facts", said, under),
  );
}

/** The heading of a scope: the name of the slice and its range. */
export function scopeTitle(part: ReadonlySignal<string>, reading: Reading, end: AbortSignal): HTMLElement {
  const range = computed(() => rangeText(reading.slice()));
  return html("h4.i-title", html("b", live(part, end)), html("span.i-range", live(range, end)));
}
