// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TileRequest, Wanted } from "../../../src/protocol";
import { createInspector } from "../../../src/view/inspector";
import { maps, summaryOf } from "../../support/activations";
import { contextOf, graphOf, Kernel, type Shown, stageInfo } from "../../support/kernel";

const MAPS = maps(12, 14, 20);
const COMPONENTS = maps(3, 14, 20);
const shown: Shown = { activation: MAPS, summary: summaryOf(MAPS) };
/** What a kernel answers with; it is no leaf that the reader can choose. */
const answered: Shown = { activation: COMPONENTS, summary: summaryOf(COMPONENTS, undefined, "pca") };

let end: AbortController;
let kernel: Kernel;

function open(leaves: readonly Shown[]): HTMLElement {
  kernel = new Kernel(graphOf([stageInfo("enc")], []), () => ({ enc: leaves }), { selected: "enc" });
  const panel = createInspector(contextOf(kernel, end.signal), end.signal);
  document.body.append(panel);
  return panel;
}
const settle = async (): Promise<void> => {
  for (let i = 0; i < 12; i++) await Promise.resolve();
};
const asked = (): readonly TileRequest[] =>
  kernel.written
    .filter(([name]) => name === "wanted")
    .flatMap(([, value]) => (value as Wanted).tiles)
    .filter(({ leaf }) => leaf === "pca");
const section = (panel: Element): HTMLElement | null => panel.querySelector(".nf-i-composite");

beforeEach(() => {
  end = new AbortController();
  vi.stubGlobal("IntersectionObserver", undefined);
});
afterEach(() => {
  end.abort();
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

test("three components are asked for and shown when they have come", async () => {
  const panel = open([shown, answered]);
  expect(section(panel)!.hidden).toBe(true);
  await settle();
  expect([...new Set(asked().map(({ channel }) => channel))]).toEqual([0, 1, 2]);
  expect(section(panel)!.hidden).toBe(false);
  const canvas = section(panel)!.querySelector("canvas")!;
  expect([canvas.width, canvas.height, canvas.style.width]).toEqual([20, 14, "160px"]);
});

test("nothing is shown where the kernel has none", async () => {
  const panel = open([shown]);
  await settle();
  expect(asked()).not.toEqual([]);
  expect(section(panel)!.hidden).toBe(true);
});

test("a few channels are better seen one by one", () => {
  const few = maps(3, 14, 14);
  expect(section(open([{ activation: few, summary: summaryOf(few) }]))).toBeNull();
});
