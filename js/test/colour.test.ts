import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as colour from "../src/colour";
import type { Statistics } from "../src/protocol";

const THEMES = ["light", "dark"] as const;
const statistics = (more: Partial<Statistics>): Statistics => ({
  count: 10,
  min: -1,
  max: 2,
  mean: 0,
  std: 1,
  zeros: 0,
  negatives: 0.5,
  nan: 0,
  inf: 0,
  p1: -0.5,
  p99: 1.5,
  ...more,
});

describe.each(THEMES)("the %s table", (theme) => {
  const table = colour.colourTable(theme);
  const scale = { zero: 0, limit: 1 };
  const paper = theme === "light" ? [0xfb, 0xfb, 0xfc] : [0x0e, 0x10, 0x13];

  it("shows zero as the paper", () => {
    expect(colour.colourOf(0, scale, table)).toEqual(paper);
  });

  it("goes away from the paper with magnitude, on both sides", () => {
    const away = (value: number): number =>
      Math.abs(
        colour.luminance(colour.colourOf(value, scale, table)) - colour.luminance(paper as [number, number, number]),
      );
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(-1, 1), (size, sign) => {
        expect(away(sign * size)).toBeGreaterThanOrEqual(away(sign * size * 0.9) - 1e-9);
      }),
      { seed: 1 },
    );
  });

  it("tells the sign by temperature", () => {
    for (const size of [0.25, 0.5, 0.75]) {
      const [r, , b] = colour.colourOf(size, scale, table);
      expect(r).toBeGreaterThan(b);
      const [coolR, , coolB] = colour.colourOf(-size, scale, table);
      expect(coolB).toBeGreaterThan(coolR);
    }
  });

  it("has ink of at least 4.5 : 1 for every value", () => {
    for (let v = -1; v <= 1; v += 0.01) {
      const rgb = colour.colourOf(v, scale, table);
      const ink = colour.inkOn(rgb) === "#000" ? ([0, 0, 0] as const) : ([255, 255, 255] as const);
      expect(colour.contrast(rgb, ink)).toBeGreaterThanOrEqual(4.5);
    }
  });

  it("paints values, and codes of the same values, alike", () => {
    const codes = Uint8Array.from([0, 127, 200, 254, 255]);
    const [fromCodes, fromFloats] = [new Uint8ClampedArray(20), new Uint8ClampedArray(20)];
    colour.codesToRgba(codes, { low: -2, high: 2 }, { zero: 0, limit: 2 }, table, fromCodes);
    colour.floatsToRgba(colour.decodeCodes(codes, -2, 2), { zero: 0, limit: 2 }, table, fromFloats);
    expect(fromCodes).toEqual(fromFloats);
    expect([...fromCodes.subarray(4, 7)]).toEqual(paper);
    expect([...fromCodes.subarray(16, 19)]).toEqual([...table.notFinite]);
  });

  it("marks every value that is not finite, and no finite one", () => {
    const values = Float64Array.from([Number.NaN, Infinity, -Infinity, 1e308, -1e308]);
    const out = new Uint8ClampedArray(20);
    colour.floatsToRgba(values, { zero: 0, limit: 1e-300 }, table, out);
    const at = (i: number): number[] => [...out.subarray(i * 4, i * 4 + 3)];
    for (const i of [0, 1, 2]) expect(at(i)).toEqual([...table.notFinite]);
    expect(at(3)).toEqual(colour.colourOf(1, scale, table));
    expect(at(4)).toEqual(colour.colourOf(-1, scale, table));
  });
});

describe("scales", () => {
  it("of a stage end at its robust range and keep zero in the middle", () => {
    expect(colour.scaleFor("stage", statistics({}), null)).toEqual({ zero: 0, limit: 1.5 });
    expect(colour.scaleFor("stage", statistics({ p1: -3 }), null).limit).toBe(3);
  });

  it("of a stage that is zero nearly everywhere fall back to its extremes", () => {
    expect(colour.scaleFor("stage", statistics({ p1: 0, p99: 0 }), null).limit).toBe(2);
  });

  it("of a constant zero divide by something", () => {
    const zero = statistics({ p1: 0, p99: 0, min: 0, max: 0 });
    expect(colour.place(0, colour.scaleFor("stage", zero, null))).toBe(0);
    expect(colour.scaleFor("stage", null, null).limit).toBeGreaterThan(0);
  });

  it("by channel use the channel's own range", () => {
    expect(colour.scaleFor("channel", statistics({}), { low: -9, high: 4 }).limit).toBe(9);
  });

  it("that are fixed start at their end nearest to zero", () => {
    expect(colour.place(2, colour.scaleFor([2, 6], null, null))).toBe(0);
    expect(colour.place(6, colour.scaleFor([2, 6], null, null))).toBe(1);
    expect(colour.place(-6, colour.scaleFor([-6, -2], null, null))).toBe(-1);
    expect(colour.place(0, colour.scaleFor([-1, 4], null, null))).toBe(0);
  });
});
