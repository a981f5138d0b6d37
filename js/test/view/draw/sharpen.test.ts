import { describe, expect, it } from "vitest";
import type { Picture } from "../../../src/protocol";
import type { Plane } from "../../../src/view/canvas";
import { sharpPhoto } from "../../../src/view/draw/sharpen";

const SIDE = 32;

/** Normalised values of a channel: a wave, so that each element differs from its neighbours. */
function channel(k: number): Plane {
  const values = Float32Array.from({ length: SIDE * SIDE }, (_, i) => Math.sin(i * 0.7 + k) + Math.cos(i / SIDE) * 0.5);
  return { kind: "values", rows: SIDE, columns: SIDE, exact: true, values };
}

const level = (value: number, k: number): number => 110 + 40 * value + 5 * k;

/** The photo of these channels at half the size. */
function photoOf(
  channels: readonly Plane[],
  of: (value: number, k: number) => number,
): Extract<Picture, { kind: "photo" }> {
  const half = SIDE / 2;
  const codes = new Uint8ClampedArray(half * half * 3);
  for (let r = 0; r < half; r++)
    for (let c = 0; c < half; c++)
      for (let k = 0; k < 3; k++) {
        const plane = channels[Math.min(k, channels.length - 1)]! as Extract<Plane, { kind: "values" }>;
        let sum = 0;
        for (const [dr, dc] of [
          [0, 0],
          [0, 1],
          [1, 0],
          [1, 1],
        ] as const)
          sum += plane.values[(2 * r + dr) * SIDE + 2 * c + dc]!;
        codes[(r * half + c) * 3 + k] = of(sum / 4, k);
      }
  const size = { rows: half, columns: half, size: [SIDE, SIDE] as const, pooled: true };
  return { kind: "photo", ...size, codes: new DataView(codes.buffer) };
}

describe("a photo from exact values", () => {
  it("has the levels that its own pixels imply, at full size", () => {
    const channels = [0, 1, 2].map(channel);
    const sharp = sharpPhoto(photoOf(channels, level), channels)!;
    expect([sharp.rows, sharp.columns]).toEqual([SIDE, SIDE]);
    const bytes = new Uint8Array(sharp.codes.buffer);
    for (const i of [0, 7, 500, 1023])
      for (let k = 0; k < 3; k++) {
        const { values } = channels[k] as Extract<Plane, { kind: "values" }>;
        expect(Math.abs(bytes[i * 3 + k]! - level(values[i]!, k))).toBeLessThan(2);
      }
  });

  it("is grey where there is one channel", () => {
    const grey = [channel(4)];
    const sharp = sharpPhoto(
      photoOf(grey, (value) => level(value, 0)),
      grey,
    )!;
    const bytes = new Uint8Array(sharp.codes.buffer);
    expect(bytes[30]).toBe(bytes[31]);
  });

  it("is refused where the values do not explain it", () => {
    const channels = [5, 6, 7].map(channel);
    expect(
      sharpPhoto(
        photoOf(channels, (value) => 120 + 100 * Math.sin(value * 40)),
        channels,
      ),
    ).toBeNull();
  });
});
