import { describe, expect, test } from "vitest";
import type { Statistics } from "../../../src/protocol";
import { arcsOf } from "../../../src/view/inspect/arcs";
import { barShare, classesText, classValue } from "../../../src/view/inspect/classes";
import { within } from "../../../src/view/inspect/detail";
import { nextPlace } from "../../../src/view/inspect/grid";
import { boxOf, moved } from "../../../src/view/inspect/plate";
import { barsOf } from "../../../src/view/inspect/profile";
import { notFiniteText } from "../../../src/view/inspect/statistics";
import { strongest, windowStart } from "../../../src/view/inspect/vector";
import { entropy } from "../../../src/view/inspect/weights";
import { pythonIndex, share } from "../../../src/view/inspect/words";

describe("words", () => {
  test("a share is never told as nothing or as all when it is not", () => {
    expect([0, 0.0001, 0.479, 0.9999, 1].map(share)).toEqual(["0%", "<0.1%", "47.9%", ">99.9%", "100%"]);
  });

  test("an index leaves out the whole axes at its end only", () => {
    expect(pythonIndex([0, null, 3, null])).toBe("[0, :, 3]");
    expect(pythonIndex([null, null])).toBe("");
  });

  test("the alarm counts what is not finite", () => {
    const clean = { nan: 0, inf: 0, count: 10 } as Statistics;
    expect(notFiniteText(clean)).toBe("");
    expect(notFiniteText({ ...clean, nan: 3 })).toBe("3 NaN among 10 values");
    expect(notFiniteText({ ...clean, nan: 3, inf: 1 })).toBe("3 NaN and 1 Inf among 10 values");
  });
});

describe("keys", () => {
  const spot = { row: 5, column: 5 };

  test("move the crosshair by one, with Shift by a tenth, and stop at the edges", () => {
    expect(moved(spot, "ArrowUp", false, [40, 60])).toEqual({ row: 4, column: 5 });
    expect(moved(spot, "ArrowRight", true, [40, 60])).toEqual({ row: 5, column: 11 });
    expect(moved(spot, "ArrowUp", true, [40, 60])).toEqual({ row: 1, column: 5 });
    expect(moved({ row: 0, column: 0 }, "ArrowLeft", false, [40, 60])).toEqual({ row: 0, column: 0 });
    expect(moved(spot, "End", false, [40, 60])).toEqual({ row: 5, column: 59 });
    expect(moved(spot, "x", false, [40, 60])).toBeNull();
  });

  test("move through the grid by cells and rows, and stay where there is no next one", () => {
    expect(nextPlace(3, "ArrowRight", 24)).toBe(4);
    expect(nextPlace(3, "ArrowDown", 24)).toBe(11);
    expect(nextPlace(3, "ArrowUp", 24)).toBe(3);
    expect(nextPlace(23, "ArrowRight", 24)).toBe(23);
    expect(nextPlace(3, "End", 24)).toBe(23);
    expect(nextPlace(3, "Enter", 24)).toBeNull();
  });
});

describe("sizes", () => {
  test("a plate keeps the shape of its slice, and no side vanishes", () => {
    expect(boxOf([56, 56], 224)).toEqual([224, 224]);
    expect(boxOf([20, 40], 224)).toEqual([224, 112]);
    expect(boxOf([1, 500], 224)).toEqual([224, 24]);
  });

  test("a slice within the bound is asked for exactly", () => {
    expect(within([56, 100], 100)).toBeNull();
    expect(within([112, 40], 100)).toEqual([100, 40]);
  });
});

describe("profile", () => {
  test("draws a bar per value, clipped at full deflection", () => {
    const bars = barsOf(Float64Array.from([1, -4, Number.NaN]), 2, 30);
    expect(bars.map(({ low, high }) => [low, high])).toEqual([
      [0, 0.5],
      [-1, 0],
      [0, 0],
    ]);
    expect(bars.map(({ from, to }) => to - from)).toEqual([10, 10, 10]);
  });

  test("spans, per px, all values that fall into it", () => {
    const bars = barsOf(Float64Array.from([1, -1, 2, 0]), 2, 2);
    expect(bars.map(({ low, high }) => [low, high])).toEqual([
      [-0.5, 0.5],
      [0, 1],
    ]);
  });
});

describe("vectors", () => {
  test("name their strongest values first, ties by index, NaN not at all", () => {
    const values = Float64Array.from([1, Number.NaN, -3, 3, 2, Number.NEGATIVE_INFINITY]);
    expect(strongest(values, 3)).toEqual([5, 2, 3]);
    expect(strongest(values, 0)).toEqual([]);
  });

  test("keep the window inside", () => {
    expect([windowStart(0, 1000), windowStart(500, 1000), windowStart(999, 1000)]).toEqual([0, 480, 959]);
  });
});

describe("classes", () => {
  test("show four digits behind the point", () => {
    expect([0.38123, 0.00001, 0, 1, 12.5, -3.25, null].map(classValue)).toEqual([
      ".3812",
      "<.0001",
      "0",
      "1.0000",
      "12.5000",
      "−3.25000",
      "–",
    ]);
  });

  test("fill their bars by share, other values against the greatest", () => {
    const entry = (value: number) => ({ index: 0, name: "", value });
    expect(barShare(0.25, [entry(0.25), entry(0.1)])).toBe(0.25);
    expect(barShare(5, [entry(10), entry(5)])).toBe(0.5);
  });

  test("say how many there are", () => {
    const entries = [{ index: 0, name: "cat", value: 1 }];
    expect(classesText({ kind: "classes", entries, count: 1000, scale: "softmax" })).toBe(
      "softmax of 1,000 classes, the best 1 shown",
    );
    expect(classesText({ kind: "classes", entries, count: 1, scale: "softmax" })).toBe("softmax of 1 class");
  });
});

describe("attention", () => {
  test("entropy is in bits, whatever the sum", () => {
    expect(entropy(Float64Array.from([0.25, 0.25, 0.25, 0.25]))).toBeCloseTo(2, 12);
    expect(entropy(Float64Array.from([3, 3, 0, 0]))).toBeCloseTo(1, 12);
    expect(entropy(Float64Array.from([1, 0]))).toBe(0);
  });

  test("arcs leave out what is faint, and the strongest lies on top", () => {
    const drawn = arcsOf([0.5, 0.001, 0.2, 0.299], 3, 4);
    expect(drawn.map(({ key }) => key)).toEqual([2, 3, 0]);
    expect(drawn.map(({ width }) => width)).toEqual([...drawn.map(({ width }) => width)].sort((a, b) => a - b));
  });
});
