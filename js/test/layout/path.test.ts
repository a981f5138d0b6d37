import { describe, expect, it } from "vitest";
import { drawEdge, rounded, simplify } from "../../src/layout/path";

describe("a rounded path", () => {
  it("cuts each corner with a quarter circle, on the side that it turns to", () => {
    const right = rounded([
      { x: 0, y: 0 },
      { x: 50, y: 0 },
      { x: 50, y: 50 },
    ]);
    expect(right.path).toBe("M0 0L42 0A8 8 0 0 1 50 8L50 50");
    const left = rounded([
      { x: 0, y: 50 },
      { x: 50, y: 50 },
      { x: 50, y: 0 },
    ]);
    expect(left.path).toBe("M0 50L42 50A8 8 0 0 0 50 42L50 0");
    expect(right.length).toBeCloseTo(84 + 4 * Math.PI);
  });

  it("takes smaller corners where a stretch is short", () => {
    expect(
      rounded([
        { x: 0, y: 0 },
        { x: 6, y: 0 },
        { x: 6, y: 40 },
      ]).path,
    ).toBe("M0 0L3 0A3 3 0 0 1 6 3L6 40");
  });
});

describe("an edge", () => {
  it("ends inside its arrowhead", () => {
    const drawn = drawEdge({
      id: "e",
      points: [
        { x: 0, y: 0 },
        { x: 30, y: 0 },
      ],
      label: null,
      joins: false,
    });
    expect(drawn).toMatchObject({ path: "M0 0L25 0", arrow: { x: 30, y: 0, dx: 1, dy: 0 }, dash: 0 });
  });

  it("that joins others starts its dashes so that they end alike", () => {
    const drawn = drawEdge({
      id: "e",
      points: [
        { x: 0, y: 0 },
        { x: 30, y: 0 },
      ],
      label: null,
      joins: true,
    });
    expect(drawn.dash).toBe(-25);
  });

  it("has no corner where it runs straight on", () => {
    expect(
      simplify([
        { x: 0, y: 0 },
        { x: 5, y: 0 },
        { x: 5, y: 0 },
        { x: 9, y: 0 },
        { x: 9, y: 4 },
      ]),
    ).toEqual([
      { x: 0, y: 0 },
      { x: 9, y: 0 },
      { x: 9, y: 4 },
    ]);
  });
});
