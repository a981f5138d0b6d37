import { describe, expect, test } from "vitest";
import { runsOf, type Seen } from "../../../src/view/slide/memory";
import { cellCount, frameOfCell } from "../../../src/view/slide/track";

const seen = (...best: readonly (string | null)[]): ReadonlyMap<number, Seen> =>
  new Map(best.flatMap((word, i) => (word === null ? [] : [[i, { thumbnail: null, best: word }] as const])));

describe("runs of the best class", () => {
  test("join neighbours of one class", () => {
    expect(runsOf(seen("cat", "cat", "lynx", "cat"), 4)).toEqual([
      { first: 0, last: 1, best: "cat" },
      { first: 2, last: 2, best: "lynx" },
      { first: 3, last: 3, best: "cat" },
    ]);
  });

  test("do not bridge frames that were not seen", () => {
    expect(runsOf(seen("cat", null, "cat"), 3)).toEqual([
      { first: 0, last: 0, best: "cat" },
      { first: 2, last: 2, best: "cat" },
    ]);
  });

  test("are none where no class is named", () => {
    expect(runsOf(seen("", ""), 2)).toEqual([]);
  });
});

describe("cells of the strip", () => {
  test("are one per frame while there is room", () => {
    expect(cellCount(640, 16)).toBe(16);
    expect([0, 7, 15].map((i) => frameOfCell(i, 16, 16))).toEqual([0, 7, 15]);
  });

  test("stand for their share of the frames where there is none", () => {
    expect(cellCount(638, 100)).toBe(16);
    expect([0, 1, 15].map((i) => frameOfCell(i, 16, 100))).toEqual([3, 9, 96]);
  });
});
