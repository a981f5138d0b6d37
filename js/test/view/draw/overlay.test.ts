// @vitest-environment happy-dom
import { describe, expect, test } from "vitest";
import { colourTable } from "../../../src/colour";
import type { Picture } from "../../../src/protocol";
import { createImagePool } from "../../../src/view/draw/images";
import { classAt, drawOverlay, type Overlay, type OverlayStyle } from "../../../src/view/draw/overlay";

type Photo = Extract<Picture, { kind: "photo" }>;
const bytes = (...values: number[]): DataView => new DataView(Uint8Array.from(values).buffer);

const mask: Extract<Picture, { kind: "mask" }> = {
  kind: "mask",
  rows: 2,
  columns: 2,
  size: [20, 20],
  pooled: true,
  codes: bytes(0, 0, 1, 255),
  entries: [
    { index: 0, name: "background", value: 0.5 },
    { index: 7, name: "cat", value: 0.25 },
  ],
  count: 9,
  how: "argmax of 9 channels",
  background: 0,
  depth: null,
  over: "x",
};
const grey: Photo = {
  kind: "photo",
  rows: 2,
  columns: 2,
  size: [2, 2],
  pooled: false,
  codes: bytes(...Array(12).fill(100)),
};

function style(photo: Photo | null): OverlayStyle {
  const images = createImagePool(new AbortController().signal);
  const measure = (text: string): number => text.length * 4;
  return {
    box: { width: 90, height: 92 },
    density: 1,
    measure,
    images,
    table: colourTable("light"),
    photoOf: () => photo,
  };
}

/** RGB of each pixel of the drawn bitmap, row by row. */
function pixels(picture: Overlay, photo: Photo | null): number[][] {
  const url = drawOverlay(picture, style(photo)).element.querySelector("image")!.getAttribute("href")!;
  const file = Uint8Array.from(atob(url.split(",")[1]!), (c) => c.charCodeAt(0)).subarray(54);
  return Array.from({ length: file.length / 4 }, (_, i) => [file[i * 4 + 2]!, file[i * 4 + 1]!, file[i * 4]!]);
}

const texts = (picture: Overlay): (string | null)[] =>
  Array.from(drawOverlay(picture, style(null)).element.querySelectorAll("text"), (text) => text.textContent);

describe("a mask", () => {
  test("colours its classes over the photo and leaves the background and what has no class as they are", () => {
    const [a, b, c, d] = pixels(mask, grey);
    expect([a, b, d]).toEqual([
      [100, 100, 100],
      [100, 100, 100],
      [100, 100, 100],
    ]);
    expect(c).not.toEqual([100, 100, 100]);
  });

  test("has full colours on paper without a photo, and another colour for each class", () => {
    const codes = bytes(0, 1, 2, 3);
    const entries = [1, 2, 3, 4].map((index) => ({ index, name: "", value: 0.25 }));
    const found = pixels({ ...mask, codes, entries }, null);
    expect(new Set(found.map(String)).size).toBe(4);
  });

  test("names its classes with their shares", () => {
    expect(texts(mask)).toEqual(["background", "50%", "cat", "25%"]);
  });

  test("tells the class at a place", () => {
    expect(classAt(mask, 0.1, 0.9)?.name).toBe("background");
    expect(classAt(mask, 0.9, 0.1)?.name).toBe("cat");
    expect(classAt(mask, 0.9, 0.9)).toBeUndefined();
  });
});

describe("boxes", () => {
  const boxes: Overlay = {
    kind: "boxes",
    entries: [
      { sides: [0.25, 0, 0.75, 0.5], name: "cat", score: 0.9 },
      { sides: [0, 0, 1, 1], name: "", score: null },
    ],
    count: 5,
    size: [20, 20],
    over: "x",
  };

  test("lie where they are, the best on top, with their scores", () => {
    const { element } = drawOverlay(boxes, style(grey));
    const last = [...element.querySelectorAll(".nf-box")].at(-1)!;
    const frame = element.querySelector(".nf-frame")!;
    const whole = Number(frame.getAttribute("width")) - 1;
    expect(Number(last.getAttribute("width"))).toBeCloseTo(whole / 2);
    expect(Number(last.getAttribute("height"))).toBeCloseTo(whole / 2);
    expect(texts(boxes)).toEqual(["cat", "90%", "box 1", ""]);
  });

  test("can do without a photo", () => {
    expect(drawOverlay(boxes, style(null)).element.querySelector("image")).toBeNull();
  });
});
