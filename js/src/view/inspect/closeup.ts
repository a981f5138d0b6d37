/** One slice of a leaf, large: its name and range, the plate under the crosshair, and the Python that gives the value. */
import { computed, type Signal } from "../../state";
import { type Child, html, span } from "../dom";
import { live } from "../parts";
import { copyLine } from "./copy";
import { type Leaf, type Part, scaleOf } from "./detail";
import { type Fact, facts, minusFacts } from "./facts";
import { boxOf } from "./plate";
import { type Cut, expressionOf } from "./python";
import { minusAt, type Reading, read } from "./reading";
import { rangeText, scope } from "./scope";
import type { Slice, Spot } from "./slice";

/** CSS px of the plate's longer side. */
const PLATE = 224;

/** What is looked at. Functions are called inside effects. */
export interface Look {
  readonly leaf: Leaf;
  /** Rows and columns of the slice. */
  readonly size: readonly [number, number];
  readonly spot: Signal<Spot>;
  /** "ch 21": short name of the slice. */
  part(): string;
  /** The part of the leaf to ask for: all of it for {}. */
  ask(): Part;
  /** Rows and columns of that, and how the slice is made from it, where it is not the slice itself. */
  readonly derived?: { readonly size: readonly [number, number]; derive(asked: Slice): Slice };
  /** What the overview knows of the slice, where that is not what it knows of the part that is asked for. */
  readonly coded?: () => Slice | null;
  facts(reading: Reading): readonly Fact[];
  /** The index that gives the value in Python. */
  cut(): Omit<Cut, "sample">;
  /** Where the crosshair starts; at the peak, if nothing else is said. */
  readonly find?: ((slice: Slice) => Spot) | undefined;
}

/** How it is laid out, where that is not as usual. */
export interface Plate extends Look {
  /** Width and height of the plate, CSS px. */
  readonly box?: readonly [number, number];
  /** What rows and columns are called. */
  readonly names?: readonly [string, string];
  /** Indices of a spot into the slice, as the readout says them. */
  position?(spot: Spot): readonly number[];
  /** Above the plate, left of it, under the facts; and below everything. */
  readonly above?: Child;
  readonly left?: Child;
  readonly under?: Child;
  below?(reading: Reading): Child;
  /** Facts beneath the plate, which is as wide as the panel. */
  readonly wide?: boolean;
  /** A row is looked at, not a cell: no profiles, and a frame around the row. */
  readonly rowOnly?: boolean;
}

/** The value in large, with what it is the difference of and what else is known. */
export function factsOf({ leaf, spot, ...look }: Look, reading: Reading, end: AbortSignal): HTMLElement {
  const all = (): readonly Fact[] => [...minusFacts(minusAt(leaf, reading, spot())), ...look.facts(reading)];
  return facts({ context: leaf.context, reading, scale: () => scaleOf(leaf, reading.slice()), facts: all }, end);
}

/** The heading of a close-up, and the line of Python under it. */
export function framed({ leaf, part, cut }: Look, reading: Reading, end: AbortSignal, ...body: Child[]): Child[] {
  const title = html("b", live(part, end));
  const range = live(() => rangeText(reading.slice()), end);
  return [
    html("h4.i-title", title, span("i-range", range)),
    ...body,
    copyLine(
      computed(() => expressionOf(leaf, cut())),
      end,
    ),
  ];
}

export function closeUp(look: Plate, end: AbortSignal): Child[] {
  const reading = read(look, end);
  const said = factsOf(look, reading, end);
  const box = look.box ?? boxOf(look.size, PLATE);
  return framed(look, reading, end, scope({ ...look, box, reading, said }, end), look.below?.(reading));
}
