import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as viewport from "../src/viewport";

const views = fc.record({
  k: fc.double({ min: 0.1, max: 50, noNaN: true }),
  x: fc.double({ min: -2000, max: 2000, noNaN: true }),
  y: fc.double({ min: -2000, max: 2000, noNaN: true }),
});
const canvas = { width: 760, height: 400 };

describe("zooming", () => {
  it("leaves the point under the pointer where it is", () => {
    fc.assert(
      fc.property(
        views,
        fc.double({ min: 0.2, max: 5, noNaN: true }),
        fc.nat(760),
        fc.nat(400),
        (view, factor, px, py) => {
          const [u, v] = viewport.toLayout(view, px, py);
          const after = viewport.toScreen(viewport.zoomAt(view, factor, px, py), { x: u, y: v, width: 0, height: 0 });
          expect(after.x).toBeCloseTo(px, 4);
          expect(after.y).toBeCloseTo(py, 4);
        },
      ),
      { seed: 3 },
    );
  });

  it("ends at its limits without moving", () => {
    const view = { k: viewport.MAX_K, x: 5, y: 6 };
    expect(viewport.zoomAt(view, 2, 100, 100)).toEqual(view);
    expect(viewport.zoomAt({ ...view, k: viewport.MIN_K }, 0.5, 0, 0).k).toBe(viewport.MIN_K);
  });
});

it("never loses the content", () => {
  const content = { width: 700, height: 300 };
  fc.assert(
    fc.property(views, (view) => {
      const kept = viewport.keepInView(view, content, canvas);
      expect(viewport.overlaps(viewport.toScreen(kept, { x: 0, y: 0, ...content }), { x: 0, y: 0, ...canvas })).toBe(
        true,
      );
    }),
    { seed: 4 },
  );
});

describe("fitting", () => {
  it("centres what is smaller and starts at the top of what is taller", () => {
    expect(viewport.centred({ width: 500, height: 200 }, canvas, 1)).toEqual({ k: 1, x: 130, y: 100 });
    expect(viewport.centred({ width: 760, height: 900 }, canvas, 1)).toEqual({ k: 1, x: 0, y: 0 });
  });
});

describe("revealing", () => {
  const card = { x: 100, y: 100, width: 104, height: 174 };
  it("does not move for what can be seen", () => {
    expect(viewport.reveal({ k: 1, x: 0, y: 0 }, card, canvas, 12)).toEqual({ k: 1, x: 0, y: 0 });
  });
  it("brings what is outside inside, with its margin", () => {
    for (const view of [
      { k: 1, x: -500, y: 0 },
      { k: 1, x: 0, y: 300 },
      { k: 2, x: 700, y: -900 },
    ]) {
      const seen = viewport.toScreen(viewport.reveal(view, card, canvas, 12), card);
      expect(seen.x).toBeGreaterThanOrEqual(12);
      expect(seen.y).toBeGreaterThanOrEqual(12);
      expect(seen.x + seen.width).toBeLessThanOrEqual(canvas.width - 12);
      expect(seen.y + seen.height).toBeLessThanOrEqual(canvas.height - 12);
    }
  });
});

it("changes the level of detail with hysteresis", () => {
  expect(viewport.levelAt(0.44, "middle")).toBe("far");
  expect(viewport.levelAt(0.46, "middle")).toBe("middle");
  expect(viewport.levelAt(0.46, "far")).toBe("far");
  expect(viewport.levelAt(0.5, "far")).toBe("middle");
  expect(viewport.levelAt(1.61, "middle")).toBe("near");
  expect(viewport.levelAt(1.5, "near")).toBe("near");
  expect(viewport.levelAt(1.4, "near")).toBe("middle");
});
