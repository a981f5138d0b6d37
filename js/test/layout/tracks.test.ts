import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arrange, pack, type Segment } from "../../src/layout/tracks";

/** A line that is left at its ends to the given sides. */
const line = (from: number, fromSide: -1 | 1, to: number, toSide: -1 | 1): Segment => ({
  lo: Math.min(from, to),
  hi: Math.max(from, to),
  ends: [
    { at: from, side: fromSide },
    { at: to, side: toSide },
  ],
});

describe("lines of a channel", () => {
  it("that open to the high side nest, the wide one outside", () => {
    expect(arrange([line(10, 1, 20, 1), line(0, 1, 30, 1)])).toEqual([1, 0]);
    expect(arrange([line(0, 1, 30, 1), line(10, 1, 20, 1)])).toEqual([0, 1]);
  });

  it("that leave and come at one place do not hide each other", () => {
    // The second one comes from the low side where the first one leaves to the high side.
    expect(arrange([line(0, -1, 10, 1), line(10, -1, 20, 1)])).toEqual([1, 0]);
  });

  it("never share a track where they touch, and keep their order", () => {
    const extent = fc.tuple(fc.nat(50), fc.nat(20)).map(([lo, length]) => ({ lo, hi: lo + length }));
    fc.assert(
      fc.property(fc.array(extent, { maxLength: 20 }), (extents) => {
        const tracks = pack(
          extents,
          extents.map((_, index) => index),
        );
        extents.forEach((a, i) => {
          extents.slice(0, i).forEach((b, j) => {
            if (a.lo <= b.hi && b.lo <= a.hi) expect(tracks[i]).toBeGreaterThan(tracks[j]!);
          });
        });
      }),
      { seed: 3 },
    );
  });
});
