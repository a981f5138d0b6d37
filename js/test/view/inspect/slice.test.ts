import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planeOfCodes } from "../../../src/view/canvas";
import {
  best,
  clampSpot,
  codedSlice,
  columnThrough,
  indexAt,
  momentsOf,
  overGrid,
  peakOf,
  rankAmong,
  rowThrough,
  type Slice,
  tileSlice,
  valueAt,
} from "../../../src/view/inspect/slice";

const slice = (rows: number, columns: number, values: readonly number[], more: Partial<Slice> = {}): Slice => ({
  kind: "values",
  rows,
  columns,
  values: Float64Array.from(values),
  size: [rows, columns],
  exact: true,
  ...more,
});

const NUMBERS = slice(2, 3, [1, -9, 3, 4, 5, 6]);

describe("a whole slice", () => {
  test("gives the value, row and column of a spot", () => {
    const spot = { row: 1, column: 2 };
    expect(valueAt(NUMBERS, spot)).toBe(6);
    expect([...rowThrough(NUMBERS, spot)]).toEqual([4, 5, 6]);
    expect([...columnThrough(NUMBERS, spot)]).toEqual([3, 6]);
  });

  test("has its peak where the magnitude is greatest, at the first such place", () => {
    expect(peakOf(NUMBERS)).toEqual({ row: 0, column: 1 });
    expect(peakOf(slice(2, 2, [Number.NaN, 2, Number.POSITIVE_INFINITY, -2]))).toEqual({ row: 0, column: 1 });
  });

  test("keeps spots inside", () => {
    expect(clampSpot({ row: -1, column: 7.9 }, [2, 3])).toEqual({ row: 0, column: 2 });
  });
});

describe("a pooled slice", () => {
  const pooled = slice(2, 2, [1, 2, 3, 40], { size: [8, 6], exact: false });

  test("maps spots of the activation onto the values that it holds", () => {
    expect(indexAt(pooled, { row: 3, column: 2 })).toBe(0);
    expect(valueAt(pooled, { row: 4, column: 3 })).toBe(40);
    expect([...rowThrough(pooled, { row: 7, column: 0 })]).toEqual([3, 40]);
  });

  test("finds its peak in the activation", () => {
    expect(peakOf(pooled)).toEqual({ row: 6, column: 4 });
  });

  test("gives way to more or to exact values", () => {
    const finer = slice(4, 4, new Array(16).fill(0), { exact: false });
    expect(best(pooled, finer)).toBe(finer);
    expect(best(NUMBERS, finer)).toBe(NUMBERS);
    expect(best(null, pooled)).toBe(pooled);
    expect(best(null, null)).toBeNull();
  });
});

test("codes are read back at their place among several planes", () => {
  const codes = new DataView(Uint8Array.from([0, 0, 0, 127, 254, 255]).buffer);
  const plane = codedSlice(planeOfCodes({ low: -2, high: 2, codes }, 1, 3, 3), [10, 30])!;
  expect(plane.exact).toBe(false);
  expect(plane.size).toEqual([10, 30]);
  expect([...plane.values]).toEqual([0, 2, Number.NaN]);
});

test("an exact tile knows its own size, a pooled one is told", () => {
  const tile = { key: "k", rows: 2, columns: 2, dtype: "float32", low: 0, high: 1, mean: 0, error: "" } as const;
  const values = new Float32Array(4);
  expect(tileSlice({ ...tile, exact: true, values }, [9, 9]).size).toEqual([2, 2]);
  expect(tileSlice({ ...tile, exact: false, values }, [9, 9]).size).toEqual([9, 9]);
});

describe("moments", () => {
  test("are over the finite values", () => {
    const { min, max, mean, std } = momentsOf(Float64Array.from([1, Number.NaN, 3, Number.POSITIVE_INFINITY]));
    expect([min, max, mean, std]).toEqual([1, 3, 2, 1]);
  });

  test("are NaN without any", () => {
    expect(momentsOf(Float32Array.from([Number.NaN])).mean).toBeNaN();
  });

  test("do not lose the variance beside a large mean", () => {
    expect(momentsOf(Float64Array.from([1e8, 1e8 + 2])).std).toBeCloseTo(1, 9);
  });
});

describe("rank among all", () => {
  test("counts greater magnitudes, ties share the better rank, NaN is last", () => {
    expect(rankAmong(-5, [4, 6, -7, 5])).toBe(3);
    expect(rankAmong(Number.NaN, [1, Number.NaN, 2])).toBe(3);
    expect(rankAmong(1, [Number.NaN])).toBe(1);
  });

  test("is between 1 and one more than the others", () => {
    fc.assert(
      fc.property(fc.double(), fc.array(fc.double()), (own, all) => {
        const rank = rankAmong(own, all);
        return rank >= 1 && rank <= all.length + 1;
      }),
    );
  });
});

test("a feature lies over the patch grid behind the special tokens", () => {
  const tokens = slice(5, 2, [9, 9, 1, 10, 2, 20, 3, 30, 4, 40]);
  const over = overGrid(tokens, 1, [2, 2], 1);
  expect([...over.values]).toEqual([10, 20, 30, 40]);
  expect(over.size).toEqual([2, 2]);
  expect(over.exact).toBe(true);
});
