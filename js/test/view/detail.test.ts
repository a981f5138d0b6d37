import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Tile } from "../../src/interest";
import { createWidgetState } from "../../src/state";
import { exactRequest, planeOf, sharpRequest, wholeRequest } from "../../src/view/detail";
import type { Slot } from "../../src/view/draw/slots";
import { graphOf, Kernel } from "../support/kernel";

const widget = createWidgetState(new Kernel(graphOf([], []), () => ({})), new AbortController().signal);
const place = { widget, stage: "s", leaf: "" };
const slot = (rows: number, columns: number, skip = 0): Slot => ({
  channel: 2,
  slice: null,
  full: [rows, columns],
  skip,
  part: "channel 2",
  plane: null,
});

describe("what a slice calls for", () => {
  it("is the exact whole where that is small, and never more than a million elements", () => {
    expect(wholeRequest(place, slot(1024, 1024))).toMatchObject({ size: null, region: null, channel: 2, stage: "s" });
    const [rows, columns] = wholeRequest(place, slot(4000, 1000)).size!;
    expect(rows * columns).toBeLessThanOrEqual(2 ** 20);
    expect(rows / columns).toBeCloseTo(4, 1);
  });

  it("is as sharp as the screen, in steps, and exact once the screen has room for every element", () => {
    expect(sharpRequest(place, slot(512, 256), 100).size).toEqual([128, 64]);
    expect(sharpRequest(place, slot(512, 256), 128).key).toBe(sharpRequest(place, slot(512, 256), 90).key);
    expect(sharpRequest(place, slot(512, 256), 300).size).toBeNull();
    expect(sharpRequest(place, slot(7, 7), 3).size).toBeNull();
  });

  it("under the pointer is a window of a large slice that holds the element", () => {
    const large = slot(3000, 2000);
    fc.assert(
      fc.property(fc.nat(2999), fc.nat(1999), (row, column) => {
        const { region, size } = exactRequest(place, large, row, column);
        const [top, left, bottom, right] = region!;
        expect(size).toBeNull();
        expect(top <= row && row < bottom && left <= column && column < right).toBe(true);
        expect((bottom - top) * (right - left)).toBeLessThanOrEqual(512 * 512);
        expect(top >= 0 && left >= 0 && bottom <= 3000 && right <= 2000).toBe(true);
      }),
      { seed: 7 },
    );
    expect(exactRequest(place, slot(64, 64), 3, 3).region).toBeNull();
  });
});

it("gives a list of tokens the form of their patch grid", () => {
  const values = Float32Array.from([9, 0, 1, 2, 3]);
  const tile: Tile = {
    key: "",
    rows: 1,
    columns: 5,
    dtype: "float32",
    low: 0,
    high: 9,
    mean: 3,
    exact: true,
    error: "",
    values,
  };
  const plane = planeOf(tile, slot(2, 2, 1))!;
  expect([plane.rows, plane.columns]).toEqual([2, 2]);
  expect(plane.kind === "values" && [...plane.values]).toEqual([0, 1, 2, 3]);
  expect(planeOf({ ...tile, error: "no" }, slot(2, 2, 1))).toBeNull();
});
