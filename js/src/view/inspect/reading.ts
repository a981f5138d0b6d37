/** What the crosshair reads: the value there, its row and its column, exact as soon as they can be. */
import type { Values } from "../../colour";
import type { TileRequest } from "../../protocol";
import { computed, pairOf, type Probe, type ReadonlySignal, watch } from "../../state";
import { closely, failure, known, type Leaf, type Part, request } from "./detail";
import { best, columnThrough, momentsOf, rowThrough, type Slice, type Spot, valueAt } from "./slice";

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

/** What is asked for, and the rows and columns of what it asks for. */
export interface Ask {
  readonly request: TileRequest;
  readonly size: readonly [number, number];
}

export interface Looked {
  readonly leaf: Leaf;
  /** Rows and columns of the slice that is looked at. */
  readonly size: readonly [number, number];
  readonly spot: ReadonlySignal<Spot>;
  readonly ask: ReadonlySignal<Ask>;
  /** What the overview knows of the slice. */
  readonly coded: ReadonlySignal<Slice | null>;
  /** Makes the slice that is looked at from what was asked for, where they differ. */
  readonly derive?: (asked: Slice) => Slice;
}

/** The whole slice; pooled, where it is too large to travel. */
export const askWhole = (leaf: Leaf, size: readonly [number, number], part: Part): Ask => ({
  request: closely(leaf, size, part),
  size,
});

/** The exact row and column through a spot, where the slice itself was asked for pooled. */
function crossRequests(leaf: Leaf, { request: whole, size }: Ask, { row, column }: Spot): TileRequest[] {
  if (!whole.size) return [];
  const [rows, columns] = size;
  const { channel, slice } = whole;
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

/** Claims what it needs until `end`. */
export function read(looked: Looked, end: AbortSignal): Reading {
  const { leaf, ask, spot, derive } = looked;
  const { interest } = leaf.context;
  const cross = computed(() => crossRequests(leaf, ask(), spot()));
  const claim = interest.claim(end);
  // The row and the column hold the value under the crosshair, so they go first.
  const parts = computed(() => pairOf(leaf.context.widget, ask().request));
  watch(end, () => claim.want([...cross(), ask().request, ...parts()]));
  const sliceOf = (request: TileRequest): Slice | null => {
    const asked = known(leaf, request, ask().size);
    return asked && derive ? derive(asked) : asked;
  };

  const slice = computed(() => best(sliceOf(ask().request), looked.coded()));
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
    exact: computed(() => exactRow() !== null || exactColumn() !== null || slice()?.exact === true),
    row: computed(() => exactRow() ?? ofSlice((now) => rowThrough(now, spot()))),
    column: computed(() => exactColumn() ?? ofSlice((now) => columnThrough(now, spot()))),
    limit: computed(() => {
      const { min = 1, max = 1 } = ofSlice(({ values }) => momentsOf(values)) ?? {};
      return Math.max(Math.abs(min), Math.abs(max)) || 1;
    }),
    pair: computed(() => parts().map(sliceOf)),
    failure: computed(() => failure(leaf, ask().request)),
  };
}
