import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Cell, fold, mosaic, sheetCount, single, volumeCells } from "../../../src/view/draw/plan";

const BOXES = {
  small: { width: 90, height: 92 },
  large: { width: 152, height: 152 },
  compact: { width: 90, height: 76 },
} as const;
const SLACK = 1e-6;

function expectInside({ x, y, width, height }: Cell, box: { width: number; height: number }): void {
  expect(x).toBeGreaterThanOrEqual(-SLACK);
  expect(y).toBeGreaterThanOrEqual(-SLACK);
  expect(x + width).toBeLessThanOrEqual(box.width + SLACK);
  expect(y + height).toBeLessThanOrEqual(box.height + SLACK);
}

describe("the mosaic", () => {
  it("lies inside the picture box with all its sheets, whatever is shown", () => {
    const maps = fc.record({
      channels: fc.integer({ min: 1, max: 4096 }),
      rows: fc.integer({ min: 1, max: 300 }),
      columns: fc.integer({ min: 1, max: 300 }),
    });
    const card = fc.constantFrom("small", "large", "compact");
    const level = fc.constantFrom("middle", "near");
    fc.assert(
      fc.property(maps, card, level, (shown, size, zoom) => {
        // A slice thinner than two pixels is drawn two pixels thick.
        fc.pre(Math.max(shown.rows / shown.columns, shown.columns / shown.rows) < 8);
        const plan = mosaic(shown, size, zoom, BOXES[size]);
        for (const cell of [...plan.cells, ...plan.sheets]) expectInside(cell, BOXES[size]);
        expect(plan.cells.length).toBeLessThanOrEqual(shown.channels);
        for (const { width, height } of plan.cells) expect(width / height).toBeCloseTo(shown.columns / shown.rows, 3);
      }),
      { seed: 5, numRuns: 300 },
    );
  });

  it("grows smaller with resolution, and deeper with channels", () => {
    const width = (side: number): number =>
      mosaic({ channels: 64, rows: side, columns: side }, "small", "middle", BOXES.small).width;
    const widths = [112, 56, 28, 14, 7].map(width);
    expect(widths).toEqual([...widths].sort((a, b) => b - a));
    expect([1, 4, 16, 32, 64, 256, 1024, 4096].map(sheetCount)).toEqual([0, 0, 2, 3, 4, 6, 8, 8]);
  });

  it("shows one map alone, two beside each other, and no sheets when nothing is left for them", () => {
    const of = (channels: number) => mosaic({ channels, rows: 64, columns: 64 }, "small", "middle", BOXES.small);
    expect(of(1).cells).toHaveLength(1);
    expect(of(1).width).toBeCloseTo(71);
    expect(new Set(of(2).cells.map(({ y }) => y)).size).toBe(1);
    expect(of(4).sheets).toHaveLength(0);
  });

  it("shows more near by, filling the box", () => {
    const near = mosaic({ channels: 64, rows: 28, columns: 28 }, "small", "near", BOXES.small);
    expect(near.cells).toHaveLength(9);
    expect(near.sheets).toHaveLength(0);
    expect(near.width).toBeCloseTo(90);
  });
});

it("puts a single picture in the middle of the box's height", () => {
  expect(single(50, 100, 80, BOXES.small)).toEqual({ x: 0, y: 26, width: 80, height: 40 });
});

it("folds every element of a vector into the rows", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20_000 }), (length) => {
      const [rows, columns] = fold(length, { width: 80, height: 64 });
      expect(rows * columns).toBeGreaterThanOrEqual(length);
      expect((rows - 1) * columns).toBeLessThan(length);
    }),
    { seed: 6 },
  );
  expect(fold(1280, { width: 80, height: 64 })).toEqual([32, 40]);
});

it("keeps the slices of a volume apart, inside the box, and at one scale", () => {
  const planes = [
    { rows: 32, columns: 48 },
    { rows: 24, columns: 48 },
    { rows: 24, columns: 32 },
  ];
  const cells = volumeCells(planes, BOXES.small);
  for (const cell of cells) expectInside(cell, BOXES.small);
  const scales = cells.map(({ width }, i) => width / planes[i]!.columns);
  for (const scale of scales) expect(scale).toBeCloseTo(scales[0]!);
  expect(cells[1]!.y).toBeGreaterThanOrEqual(cells[0]!.y + cells[0]!.height);
  expect(cells[2]!.x).toBeGreaterThanOrEqual(cells[0]!.x + cells[0]!.width);
});
