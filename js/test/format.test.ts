import { expect, it } from "vitest";
import * as format from "../src/format";

it.each([
  [0, "0"],
  [-23.61, "−23.6"],
  [4.157, "4.16"],
  [9.9999, "10.0"],
  [99.99, "100"],
  [0.00123, "0.0012"],
  [1.23456e-7, "1.2e-7"],
  [123456, "1.2e+5"],
  [null, "NaN"],
  [Number.NEGATIVE_INFINITY, "−∞"],
])("writes %s briefly as %s", (value, text) => expect(format.brief(value)).toBe(text));

it.each([
  [21.73582, "21.7358"],
  [-0.000123456789, "−0.000123457"],
  [1 / 3, "0.333333"],
  [1234567.891, "1.23457e+6"],
  [42, "42"],
  [-7, "−7"],
  [1e-9, "1.00000e-9"],
])("writes %s precisely as %s", (value, text) => expect(format.precise(value)).toBe(text));

it("keeps at least six digits of every number", () => {
  for (let e = -12; e < 12; e++) {
    const value = 1.23456789 * 10 ** e;
    const read = Number(format.precise(value).replace("−", "-"));
    expect(Math.abs(read / value - 1)).toBeLessThan(5.1e-6);
  }
});

it("writes shapes without the batch axis, and vectors as a number", () => {
  expect(format.sampleShape([1, 64, 8, 9])).toBe("64×8×9");
  expect(format.sampleShape([1, 1280, 1, 1])).toBe("1280");
  expect(format.sampleShape([1, 1, 64, 64])).toBe("1×64×64");
  expect(format.sampleShape([1])).toBe("scalar");
  expect(format.compactShape([1, 16, 112, 112])).toBe("16×112²");
  expect(format.compactShape([1, 16, 112, 56])).toBe("16×112×56");
});

it("writes counts, times and shares in few digits", () => {
  expect([4_652_008, 301_475, 8_801, 812, 1.2e9].map(format.count)).toEqual([
    "4.65 M",
    "301 k",
    "8.8 k",
    "812",
    "1.20 G",
  ]);
  expect([999_499, 999_600].map(format.count)).toEqual(["999 k", "1.00 M"]);
  expect([75.2, 1234, 0.5].map(format.duration)).toEqual(["75 ms", "1.2 s", "0.50 ms"]);
  expect([0, 0.001, 0.61, 0.999, 1].map(format.percent)).toEqual(["0%", "<1%", "61%", ">99%", "100%"]);
});
