/**
 * A 2-D slice of an activation, as far as it is known: the coded overview first, the exact tile once it has come.
 * Spots are always places in the activation; a pooled slice maps them onto the fewer values that it holds.
 */
import { decodeCodes, type Values } from "../../colour";
import type { Tile } from "../../interest";
import { held } from "../../lists";
import { type Plane, planeOfValues } from "../canvas";

/** Fits a `Plane` of canvas.ts, so that it can be painted as it is. */
export interface Slice {
  readonly kind: "values";
  /** Of the values held. */
  readonly rows: number;
  readonly columns: number;
  /** Row by row. */
  readonly values: Values;
  /** [rows, columns] of the slice itself; more than is held where the values are pooled. */
  readonly size: readonly [number, number];
  /** The values are the activation's own: not quantised, not pooled. */
  readonly exact: boolean;
}

export interface Spot {
  readonly row: number;
  readonly column: number;
}

/** Over the finite values; NaN without any. */
export interface Moments {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly std: number;
}

/** What the overview knows of a slice of this size. */
export function codedSlice(plane: Plane | undefined, size: readonly [number, number]): Slice | null {
  if (plane?.kind !== "codes") return null;
  const { rows, columns, codes, low, high } = plane;
  return { ...planeOfValues(rows, columns, decodeCodes(codes, low, high), false), size };
}

/** A whole tile. Its own size is the slice's where it is exact. */
export function tileSlice(tile: Tile, size: readonly [number, number]): Slice {
  const { rows, columns, values, exact } = tile;
  return { ...planeOfValues(rows, columns, values, exact), size: exact ? [rows, columns] : size };
}

/** The one that tells more: an exact slice, else the one with more values. */
export function best(tile: Slice | null, coded: Slice | null): Slice | null {
  if (!tile || !coded) return tile ?? coded;
  return tile.exact || tile.rows * tile.columns >= coded.rows * coded.columns ? tile : coded;
}

const place = (at: number, size: number, count: number): number =>
  Math.max(0, Math.min(count - 1, Math.floor((at * count) / Math.max(1, size))));

/** Index into `values` of the value that stands for a spot. */
export const indexAt = (slice: Slice, { row, column }: Spot): number =>
  place(row, slice.size[0], slice.rows) * slice.columns + place(column, slice.size[1], slice.columns);

export const valueAt = (slice: Slice, spot: Spot): number => slice.values[indexAt(slice, spot)] ?? Number.NaN;

/** The spot inside `size` that is nearest to the given one. */
export function clampSpot(spot: Spot, [rows, columns]: readonly [number, number]): Spot {
  const clamp = (at: number, count: number): number => Math.max(0, Math.min(count - 1, Math.floor(at)));
  return { row: clamp(spot.row, rows), column: clamp(spot.column, columns) };
}

/** Where the magnitude is greatest; the first such place. */
export function peakOf(slice: Slice): Spot {
  let [best, at] = [-1, 0];
  for (let i = 0; i < slice.values.length; i++) {
    const magnitude = Math.abs(slice.values[i]!);
    if (magnitude > best && magnitude < Number.POSITIVE_INFINITY) [best, at] = [magnitude, i];
  }
  const columns = Math.max(1, slice.columns);
  const row = ((Math.floor(at / columns) + 0.5) * slice.size[0]) / Math.max(1, slice.rows);
  const column = (((at % columns) + 0.5) * slice.size[1]) / columns;
  return clampSpot({ row, column }, slice.size);
}

/** The held values of the row that a spot lies in. */
export function rowThrough(slice: Slice, spot: Spot): Values {
  const start = place(spot.row, slice.size[0], slice.rows) * slice.columns;
  return slice.values.subarray(start, start + slice.columns);
}

/** The held values of the column that a spot lies in. */
export function columnThrough(slice: Slice, spot: Spot): Values {
  const column = place(spot.column, slice.size[1], slice.columns);
  return Float64Array.from({ length: slice.rows }, (_, row) => slice.values[row * slice.columns + column]!);
}

/** Of values that have been looked at: they never change, and the crosshair asks at each move. */
const moments = new WeakMap<Values, Moments>();

export const momentsOf = (values: Values): Moments => held(moments, values, () => momentsAnew(values));

/** Two passes: a large mean would swallow the variance in one. */
function momentsAnew(values: Values): Moments {
  let [count, sum, min, max] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    count++;
    sum += value;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (count === 0) return { min: Number.NaN, max: Number.NaN, mean: Number.NaN, std: Number.NaN };
  const mean = sum / count;
  let squares = 0;
  for (const value of values) if (Number.isFinite(value)) squares += (value - mean) ** 2;
  return { min, max, mean, std: Math.sqrt(squares / count) };
}

/** Rank of `own` by magnitude among `all`, from 1; ties share the better rank, NaN comes last. */
export function rankAmong(own: number, all: readonly number[]): number {
  const magnitude = Math.abs(own);
  const ahead = (value: number): boolean =>
    Number.isNaN(magnitude) ? !Number.isNaN(value) : Math.abs(value) > magnitude;
  return 1 + all.filter(ahead).length;
}

/** Column `feature` of tokens × features over the patch grid that follows the `special` leading tokens. */
export function overGrid(tokens: Slice, feature: number, grid: readonly [number, number], special: number): Slice {
  const [rows, columns] = grid;
  const values = Float64Array.from({ length: rows * columns }, (_, i) =>
    valueAt(tokens, { row: special + i, column: feature }),
  );
  return { ...planeOfValues(rows, columns, values, tokens.exact), size: grid };
}
