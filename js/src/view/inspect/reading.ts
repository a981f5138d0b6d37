/** What the crosshair reads: the value there, its row and its column, exact as soon as they can be. */
import type { Values } from "../../colour";
import type { TileRequest } from "../../protocol";
import { computed, pairOf, type Probe, type ReadonlySignal, type Signal, watch } from "../../state";
import type { Look } from "./closeup";
import { closely, codedOverview, failure, known, type Leaf, request } from "./detail";
import { best, columnThrough, momentsOf, peakOf, rowThrough, type Slice, type Spot, valueAt } from "./slice";

export interface Reading {
  readonly slice: ReadonlySignal<Slice | null>;
  /** Null while nothing is known of the slice. */
  readonly value: ReadonlySignal<number | null>;
  readonly exact: ReadonlySignal<boolean>;
  readonly row: ReadonlySignal<Values | null>;
  readonly column: ReadonlySignal<Values | null>;
  /** Greatest magnitude of the slice: full deflection of its profiles. */
  readonly limit: ReadonlySignal<number>;
  /** With a reference: the slices of the values here and there, null while they have not come. */
  readonly pair: ReadonlySignal<readonly (Slice | null)[]>;
  /** Why the exact slice cannot come; "" where nothing is wrong. */
  readonly failure: ReadonlySignal<string>;
}

/**
 * Puts the crosshair where `find` says, from what is known, until the reader moves it. It then stays in its place while
 * channels and frames change, so that they can be compared there.
 */
function settle(
  spot: Signal<Spot>,
  slice: ReadonlySignal<Slice | null>,
  end: AbortSignal,
  find: (slice: Slice) => Spot,
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

/** The exact row and column through a spot, where the slice itself was asked for pooled. */
function crossRequests(
  leaf: Leaf,
  { size, channel, slice }: TileRequest,
  [rows, columns]: readonly [number, number],
  { row, column }: Spot,
): TileRequest[] {
  if (!size) return [];
  return [
    request(leaf, { channel, slice, region: [row, 0, row + 1, columns] }),
    request(leaf, { channel, slice, region: [0, column, rows, column + 1] }),
  ];
}

/** Of a difference: what it is the difference to, and the two exact values, as far as they are there. */
export function minusAt({ summary }: Leaf, { pair }: Reading, spot: Spot): Probe["minus"] {
  const frame = summary().reference;
  if (frame === null) return undefined;
  const exact = pair().flatMap((slice) => (slice?.exact ? [valueAt(slice, spot)] : []));
  return { frame, values: exact.length === 2 ? exact : [] };
}

/** What the crosshair of a close-up reads; it starts where `look.find` says. Claims what it needs until `end`. */
export function read(look: Look, end: AbortSignal): Reading {
  const { leaf, spot, derived = null, find = peakOf } = look;
  const { size } = derived ?? look;
  const { interest, widget } = leaf.context;
  const whole = computed(() => closely(leaf, size, look.ask()));
  const cross = computed(() => crossRequests(leaf, whole(), size, spot()));
  const claim = interest.claim(end);
  // The row and the column hold the value under the crosshair, so they go first.
  const parts = computed(() => pairOf(widget, whole()));
  watch(end, () => claim.want([...cross(), whole(), ...parts()]));
  const sliceOf = (request: TileRequest): Slice | null => {
    const asked = known(leaf, request, size);
    return asked && derived ? derived.derive(asked) : asked;
  };
  const coded = computed(() => {
    const { channel = null, slice = null } = look.ask();
    return look.coded ? look.coded() : codedOverview(leaf.summary(), channel, slice);
  });
  const slice = computed(() => best(sliceOf(whole()), coded()));
  settle(spot, slice, end, find);
  const ofSlice = <T>(take: (slice: Slice) => T): T | null => {
    const now = slice();
    return now && take(now);
  };
  const exactLine = (i: number): Values | null => {
    const wanted = cross()[i];
    const tile = wanted && interest.get(wanted.key);
    return tile?.exact && !tile.error ? tile.values : null;
  };
  const exactRow = computed(() => exactLine(0));
  const exactColumn = computed(() => exactLine(1));
  return {
    slice,
    value: computed(() => {
      const { row, column } = spot();
      const exact = exactRow()?.[column] ?? exactColumn()?.[row];
      return exact ?? ofSlice((now) => valueAt(now, spot()));
    }),
    exact: computed(() => !!(exactRow() || exactColumn() || slice()?.exact)),
    row: computed(() => exactRow() ?? ofSlice((now) => rowThrough(now, spot()))),
    column: computed(() => exactColumn() ?? ofSlice((now) => columnThrough(now, spot()))),
    limit: computed(() => {
      const { min = 1, max = 1 } = ofSlice(({ values }) => momentsOf(values)) ?? {};
      return Math.max(Math.abs(min), Math.abs(max)) || 1;
    }),
    pair: computed(() => parts().map(sliceOf)),
    failure: computed(() => failure(leaf, whole())),
  };
}
