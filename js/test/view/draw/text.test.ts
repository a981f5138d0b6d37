import { expect, it } from "vitest";
import { fitText, SMALL, wrapText } from "../../../src/view/draw/text";

const measure = (text: string): number => text.length;

it.each([
  ["conv1", 5, "conv1"],
  ["convolution", 6, "convo…"],
  ["layer1.0.conv1", 8, "…0.conv1"],
  ["layer1", 2, ""],
  ["", 3, ""],
])("fits %s into %i letters", (text, width, fitted) => expect(fitText(text, width, measure, SMALL)).toBe(fitted));

it("wraps words and cuts what remains after the last line", () => {
  expect(wrapText("the quick brown fox", 9, 3, measure, SMALL)).toEqual(["the quick", "brown fox"]);
  expect(wrapText("the quick brown fox jumps", 9, 2, measure, SMALL)).toEqual(["the quick", "brown fo…"]);
  expect(wrapText("incomprehensible", 6, 2, measure, SMALL)).toEqual(["incom…"]);
});
