import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { colourOf, colourTable } from "../../src/colour";
import {
  bitmapOf,
  bitmapUrl,
  photoBitmap,
  type Plane,
  planeOfCodes,
  planeRange,
  shrink,
  valueAt,
} from "../../src/view/canvas";

const table = colourTable("light");
const plane = (rows: number, columns: number, values: readonly number[]): Plane => ({
  kind: "values",
  rows,
  columns,
  exact: true,
  values: Float32Array.from(values),
});
const all = (p: Plane): number[] => Array.from({ length: p.rows * p.columns }, (_, i) => valueAt(p, 0, i));

describe("shrinking", () => {
  it("averages values over areas", () => {
    expect(all(shrink(plane(2, 4, [1, 3, -2, 2, 5, 7, 0, 0]), 1, 2))).toEqual([4, 0]);
  });

  it("shares out the cells that lie across a border", () => {
    // Thirds of four cells: weights 1, ⅓ | ⅔, ⅔ | ⅓, 1.
    const [a, b, c] = all(shrink(plane(1, 4, [3, 0, 6, 9]), 1, 3)) as [number, number, number];
    expect(a).toBeCloseTo((3 + 0) / (4 / 3), 5);
    expect(b).toBeCloseTo((0 * (2 / 3) + 6 * (2 / 3)) / (4 / 3), 5);
    expect(c).toBeCloseTo((6 / 3 + 9) / (4 / 3), 5);
  });

  it("keeps the mean of all values and stays in their range, whatever the sizes", () => {
    const sizes = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 }));
    fc.assert(
      fc.property(
        sizes,
        sizes,
        fc.infiniteStream(fc.integer({ min: -50, max: 50 })),
        ([rows, columns], [r, c], stream) => {
          const values = Array.from({ length: rows * columns }, () => stream.next().value as number);
          const small = all(shrink(plane(rows, columns, values), r, c));
          const mean = (list: readonly number[]): number => list.reduce((sum, value) => sum + value, 0) / list.length;
          expect(mean(small)).toBeCloseTo(mean(values), 4);
          expect(Math.max(...small)).toBeLessThanOrEqual(Math.max(...values) + 1e-4);
          expect(Math.min(...small)).toBeGreaterThanOrEqual(Math.min(...values) - 1e-4);
        },
      ),
      { seed: 2, numRuns: 200 },
    );
  });

  it("leaves a small plane as it is, exact; a shrunken one is not", () => {
    const small = plane(2, 2, [1, 2, 3, 4]);
    expect(shrink(small, 8, 8)).toBe(small);
    expect(shrink(small, 1, 1).exact).toBe(false);
  });

  it("loses what is not finite only beside finite values", () => {
    expect(all(shrink(plane(1, 4, [Number.NaN, 4, Infinity, Number.NaN]), 1, 2))).toEqual([4, Number.NaN]);
  });
});

describe("bitmaps", () => {
  const paint = { scale: { zero: 0, limit: 2 }, table, width: 10, height: 10, ratio: 2 };

  it("have one pixel per value where the screen has room, in the table's colours", () => {
    const { width, height, rgba } = bitmapOf(plane(1, 2, [-2, 1]), paint);
    expect([width, height]).toEqual([2, 1]);
    expect([...rgba.subarray(0, 3)]).toEqual(colourOf(-2, paint.scale, table));
    expect([...rgba.subarray(4, 7)]).toEqual(colourOf(1, paint.scale, table));
  });

  it("have no more pixels than the screen; opposite signs cancel to the paper", () => {
    const checks = Array.from({ length: 1600 }, (_, i) => ((i + Math.floor(i / 40)) % 2 === 0 ? 2 : -2));
    const { width, height, rgba } = bitmapOf(plane(40, 40, checks), paint);
    expect([width, height]).toEqual([20, 20]);
    expect([...rgba.subarray(0, 3)]).toEqual(colourOf(0, paint.scale, table));
  });

  it("of codes read them as the wire means them", () => {
    const coded = { low: -1, high: 1, codes: new DataView(Uint8Array.from([9, 0, 127, 254, 255]).buffer) };
    const p = planeOfCodes(coded, 2, 2, 1);
    expect(all(p)).toEqual([-1, 0, 1, Number.NaN]);
    expect(planeRange(p)).toEqual({ low: -1, high: 1 });
    const { rgba } = bitmapOf(p, { ...paint, scale: { zero: 0, limit: 1 } });
    expect([...rgba.subarray(12, 15)]).toEqual([...table.notFinite]);
  });

  it("of a photo average its pixels", () => {
    const codes = new DataView(Uint8Array.from([0, 0, 0, 100, 200, 50]).buffer);
    const { rgba, width } = photoBitmap({ rows: 1, columns: 2, codes }, { width: 1, height: 1, ratio: 1 });
    expect(width).toBe(1);
    expect([...rgba]).toEqual([50, 100, 25, 255]);
  });

  it("become files that hold just their pixels", () => {
    const url = bitmapUrl({ width: 2, height: 1, rgba: Uint8ClampedArray.from([1, 2, 3, 255, 4, 5, 6, 255]) });
    const file = Uint8Array.from(atob(url.slice(url.indexOf(",") + 1)), (char) => char.charCodeAt(0));
    const view = new DataView(file.buffer);
    expect(String.fromCharCode(file[0]!, file[1]!)).toBe("BM");
    expect([view.getUint32(2, true), view.getInt32(18, true), view.getInt32(22, true)]).toEqual([file.length, 2, -1]);
    // Blue, green, red and an unused byte.
    expect([...file.subarray(54)]).toEqual([3, 2, 1, 0, 6, 5, 4, 0]);
  });
});
