/** Feature maps: the ranked grid, and one item under the crosshair. */
import { TILE_VALUES, grid } from "./grid";
import { computed, type ReadonlySignal, signal } from "../../state";
import { brief } from "../../format";
import type { Child } from "../dom";

import { copyLine } from "./copy";
import { closely, codedOverview, known, type Leaf, request, scaleOf, within } from "./detail";
import type { Fact } from "./facts";
import type { MapsLens } from "./lens";
import { atInput } from "./place";
import { boxOf } from "./plate";
import { expressionOf } from "./python";
import { askWhole, read, type Reading } from "./reading";
import { scope, scopeTitle, settle } from "./scope";
import { best, momentsOf, rankAmong, type Slice, type Spot, tileSlice, valueAt } from "./slice";
import type { StageInfo } from "../../protocol";

export interface MapsSource {
  readonly leaf: Leaf;
  readonly lens: MapsLens;
  readonly stage: StageInfo;
  readonly picked: ReadonlySignal<number>;
  pick(item: number): void;
}

export const PLATE = 224;
/** Items among which a value is ranked: comparing more at each move would be felt. */
const RANKED = 1024;

/** "ch 21", "head 3", "map 0". */
export const partText = (item: string, index: number): string => `${item === "channel" ? "ch" : item} ${index}`;

/** The channel of a request: a leaf that is one map has none to name. */
export const channelOf = (lens: MapsLens, item: number): number | null => (lens.axes.item.length ? item : null);

export function mapsGrid({ leaf, lens, picked, pick }: MapsSource, end: AbortSignal): HTMLElement {
  const bound = within(lens.size, TILE_VALUES);
  const ask = (item: number) => request(leaf, { channel: channelOf(lens, item), size: bound });
  return grid(
    {
      context: leaf.context,
      items: lens.order,
      item: lens.item,
      size: lens.size,
      slice: (item) => best(known(leaf, ask(item), lens.size), codedOverview(leaf.summary(), item)),
      request: ask,
      scale: (slice) => scaleOf(leaf, slice),
      picked,
      pick,
    },
    end,
  );
}

/** Rank of the value among those of all items at the spot, as far as they are there: "5 of 24". Empty without others. */
function rankFact({ leaf, lens }: MapsSource, spot: Spot, item: number, value: number): Fact[] {
  const others: number[] = [];
  for (const other of lens.order) {
    if (other === item) continue;
    const tile = leaf.context.interest.get(closely(leaf, lens.size, { channel: channelOf(lens, other) }).key);
    if (tile?.exact) others.push(valueAt(tileSlice(tile, lens.size), spot));
  }
  if (!others.length) return [];
  const rank = `${rankAmong(value, others)} of ${others.length + 1}`;
  return others.length + 1 === lens.count ? [["rank here", rank]] : [["rank so far", rank]];
}

export function zText(value: number, slice: Slice): string {
  const { mean, std } = momentsOf(slice.values);
  return std > 0 ? brief((value - mean) / std) : "–";
}

function mapFacts(source: MapsSource, reading: Reading, spot: Spot): Fact[] {
  const { lens, picked } = source;
  const value = reading.value();
  const slice = reading.slice();
  const rows: Fact[] = [["position", `y ${spot.row} x ${spot.column}`]];
  if (value === null) return rows;
  if (lens.count > 1 && lens.count <= RANKED && reading.exact()) rows.push(...rankFact(source, spot, picked(), value));
  if (slice?.exact) rows.push([`z in ${lens.item}`, zText(value, slice)]);
  return rows;
}

/** The picked item, large. */
export function mapsScope(source: MapsSource, end: AbortSignal): readonly Child[] {
  const { leaf, lens, picked, stage } = source;
  const spot = signal<Spot>({ row: 0, column: 0 });
  const part = computed(() => partText(lens.item, picked()));
  const ask = computed(() => askWhole(leaf, lens.size, { channel: channelOf(lens, picked()) }));
  const coded = computed(() => codedOverview(leaf.summary(), picked()));
  const reading = read({ leaf, size: lens.size, spot, ask, coded }, end);
  settle(spot, reading.slice, end);
  const facts = computed(() => mapFacts(source, reading, spot()));
  const [rows, columns] = lens.size;
  const place = computed(() => {
    const { row, column } = spot();
    return { top: row / rows, left: column / columns, height: 1 / rows, width: 1 / columns };
  });
  const expression = computed(() => expressionOf(leaf, stage, { item: picked(), ...spot() }));
  const extras = { under: atInput(leaf.context, leaf.stage, place, end) };
  const names = ["y", "x"] as const;
  const position = ({ row, column }: Spot) => [row, column];
  const box = boxOf(lens.size, PLATE);
  return [
    scopeTitle(part, reading, end),
    scope({ leaf, reading, size: lens.size, box, spot, part, names, facts, position, extras }, end),
    copyLine(expression, end),
  ];
}
