/** The plate of a close-up, its row and column, and the value: laid out, and told to the readout. */
import { brief } from "../../format";
import { computed, probing, type ReadonlySignal, signal, watch } from "../../state";
import { type Child, div, html } from "../dom";
import type { Plate } from "./closeup";
import { scaleOf } from "./detail";
import { plate } from "./plate";
import { profile } from "./profile";
import { minusAt, type Reading } from "./reading";
import { momentsOf, type Slice, type Spot, valueAt } from "./slice";

export interface ScopeSource extends Plate {
  readonly box: readonly [number, number];
  readonly reading: Reading;
  /** The value and what is known of it. */
  readonly said: HTMLElement;
}

const COLUMN_DEPTH = 40;
const ROW_DEPTH = 26;

/** "min −19.7 max 31.7 mean 1.97", with "≈" where the slice is not exact. */
export function rangeText(slice: Slice | null): string {
  if (!slice) return "";
  const { min, max, mean } = momentsOf(slice.values);
  return `${slice.exact ? "" : "≈ "}min ${brief(min)} max ${brief(max)} mean ${brief(mean)}`;
}

/** Says to the readout what the pointer or the crosshair of the plate is on. */
function probe(source: ScopeSource, hovered: ReadonlySignal<Spot | null>, end: AbortSignal): void {
  const { leaf, reading, part, spot, position = ({ row, column }: Spot) => [row, column] } = source;
  const say = probing(leaf.context.view, end);
  watch(end, () => {
    const here = hovered();
    if (!here) return say(null);
    const crossed = here.row === spot().row && here.column === spot().column;
    const slice = reading.slice();
    say({
      stage: leaf.stage.id,
      leaf: leaf.name,
      part: part(),
      position: position(here),
      value: crossed ? reading.value() : slice && valueAt(slice, here),
      exact: crossed ? reading.exact() : !!slice?.exact,
      minus: minusAt(leaf, reading, here),
    });
  });
}

export function scope(source: ScopeSource, end: AbortSignal): HTMLElement {
  const { leaf, reading, size, box, spot, part, names = ["y", "x"], wide = false, rowOnly = false } = source;
  const hovered = signal<Spot | null>(null);
  const label = (): string =>
    `${part()}, ${size[0]} by ${size[1]}: ${names[0]} ${spot().row}, ${names[1]} ${spot().column}; arrow keys move`;
  const scale = computed(() => scaleOf(leaf, reading.slice()));
  const figure = plate(
    { context: leaf.context, size, box, slice: reading.slice, scale, spot, label, hover: hovered.set, rowOnly },
    end,
  );
  probe(source, hovered, end);
  const line = (along: "row" | "column"): HTMLElement => {
    const [side, across] = along === "row" ? [0, 1] : [1, 0];
    const drawn = profile(
      {
        along,
        length: box[side]!,
        depth: along === "row" ? ROW_DEPTH : COLUMN_DEPTH,
        values: reading[along],
        limit: reading.limit,
        at: () => spot()[along === "row" ? "column" : "row"],
        count: size[across]!,
        label: `Values of the ${along}`,
      },
      end,
    );
    return slot(along, drawn);
  };
  const slot = (name: string, ...children: Child[]): HTMLElement => html(`div.i-slot-${name}`, ...children);
  return div(
    "i-scope",
    { "data-wide": wide, "data-row": rowOnly },
    source.above && slot("above", source.above),
    source.left && slot("left", source.left),
    slot("plate", figure),
    ...(rowOnly ? [] : [line("column"), line("row")]),
    slot("facts", source.said, source.under),
  );
}
