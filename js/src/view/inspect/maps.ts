/** Feature maps: the ranked grid, and one item under the crosshair. */
import { brief } from "../../format";
import { computed, type ReadonlySignal, signal } from "../../state";
import type { Child } from "../dom";
import { closeUp } from "./closeup";
import { closely, codedOverview, known, type Leaf, request, within } from "./detail";
import type { Fact } from "./facts";
import { grid, TILE_VALUES } from "./grid";
import type { Axes, Lens, MapsLens } from "./lens";
import { atInput } from "./place";
import type { Reading } from "./reading";
import { best, momentsOf, rankAmong, type Spot, tileSlice, valueAt } from "./slice";

/** A leaf, and which of its items the reader has picked. */
export interface Picking<L extends Lens> {
  readonly leaf: Leaf;
  readonly lens: L;
  readonly picked: ReadonlySignal<number>;
  pick(item: number): void;
}

export type MapsSource = Picking<MapsLens>;

export const ORIGIN: Spot = { row: 0, column: 0 };
/** Items among which a value is ranked: comparing more at each move would be felt. */
const RANKED = 1024;

/** "ch 21", "head 3", "map 0". */
export const partText = (item: string, index: number): string => `${item === "channel" ? "ch" : item} ${index}`;

/** The channel of a request: a leaf that is one map has none to name. */
export const channelOf = ({ axes }: { readonly axes: Axes }, item: number): number | null =>
  axes.item.length ? item : null;

/** Every item as a picture; of a volume, where `cut` cuts it. */
export function itemsGrid(
  { leaf, lens, ...choice }: Omit<Picking<Lens>, "picked"> & { readonly picked: ReadonlySignal<number | null> },
  size: readonly [number, number],
  end: AbortSignal,
  cut = (): readonly [number, number] | null => null,
): HTMLElement {
  const bound = within(size, TILE_VALUES);
  const ask = (item: number) => request(leaf, { channel: channelOf(lens, item), slice: cut(), size: bound });
  const slice = (item: number) => best(known(leaf, ask(item), size), codedOverview(leaf.summary(), item, cut()));
  return grid({ leaf, size, slice, request: ask, ...choice }, end);
}

/** Rank of the value among those of all items at the spot, as far as they are there: "5 of 24". Empty without others. */
function rankFact({ leaf, lens }: MapsSource, spot: Spot, item: number, value: number): Fact[] {
  const others = lens.order.flatMap((other) => {
    const tile = leaf.context.interest.get(closely(leaf, lens.size, { channel: channelOf(lens, other) }).key);
    return other !== item && tile?.exact ? [valueAt(tileSlice(tile, lens.size), spot)] : [];
  });
  const count = others.length + 1;
  return count > 1
    ? [[count === lens.count ? "rank here" : "rank so far", `${rankAmong(value, others)} of ${count}`]]
    : [];
}

/** How far the value lies from the mean of its slice, in standard deviations; empty while it is not exact. */
export function zFact(within: string, reading: Reading): Fact[] {
  const [value, slice] = [reading.value(), reading.slice()];
  if (value === null || !slice?.exact) return [];
  const { mean, std } = momentsOf(slice.values);
  return [[`z in ${within}`, std > 0 ? brief((value - mean) / std) : "–"]];
}

function mapFacts(source: MapsSource, reading: Reading, spot: Spot): Fact[] {
  const { lens, picked } = source;
  const value = reading.value();
  const ranked = value !== null && lens.count > 1 && lens.count <= RANKED && reading.exact();
  return [
    ["position", `y ${spot.row} x ${spot.column}`],
    ...(ranked ? rankFact(source, spot, picked(), value) : []),
    ...zFact(lens.item, reading),
  ];
}

/** A cell of a map, as parts of its height and width. */
export const cellAt = ({ row, column }: Spot, [rows, columns]: readonly [number, number]) => ({
  top: row / rows,
  left: column / columns,
  height: 1 / rows,
  width: 1 / columns,
});

/** The picked item, large. */
export function mapsScope(source: MapsSource, end: AbortSignal): readonly Child[] {
  const { leaf, lens, picked } = source;
  const spot = signal(ORIGIN);
  const place = computed(() => cellAt(spot(), lens.size));
  return closeUp(
    {
      leaf,
      size: lens.size,
      spot,
      part: () => partText(lens.item, picked()),
      ask: () => ({ channel: channelOf(lens, picked()) }),
      facts: (reading) => mapFacts(source, reading, spot()),
      cut: () => ({ item: picked(), ...spot() }),
      under: atInput(leaf.context, leaf.stage.id, place, end),
    },
    end,
  );
}
