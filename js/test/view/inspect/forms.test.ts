// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Picture, TileRequest, Wanted } from "../../../src/protocol";
import type { ViewContext } from "../../../src/state";
import { createInspector } from "../../../src/view/inspector";
import { type Activation, generator, quantise, summaryOf } from "../../support/activations";
import { contextOf, edgeInfo, graphOf, Kernel, type Shown, stageInfo } from "../../support/kernel";

const random = generator(3);
const noise = (shape: readonly number[], axes: string, kind: string): Activation => ({
  shape,
  axes: axes.split(" "),
  kind,
  values: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random() * 4 - 2),
});
const coded = (values: ArrayLike<number>) => ({ low: -2, high: 2, codes: quantise(values, -2, 2) });
const shown = (activation: Activation, picture?: Picture): Shown => ({
  activation,
  summary: summaryOf(activation, picture),
});

const LABELS = ["the", "cat", "sat", "down"];
const WORDS = noise([1, 4, 6], "batch token feature", "tokens");
const PATCHES = noise([1, 10, 5], "batch token feature", "tokens");
const VOLUME = noise([1, 2, 4, 5, 6], "batch channel depth height width", "volume");
const WEIGHTS = noise([1, 2, 4, 4], "batch head query key", "attention");
WEIGHTS.values.set([0, 0.1, 0.7, 0.2], 12);
WEIGHTS.values.set([0.9, 0.1, 0, 0], 28);
const LOGITS = noise([1, 100], "batch feature", "vector");

const tokensPicture = ({ shape, values }: Activation, more: object): Picture => {
  const size = shape.slice(1) as unknown as [number, number];
  const rest = { pooled: false, grid: null, special: 0, labels: [], maps: null };
  return { kind: "tokens", rows: size[0], columns: size[1], size, ...rest, ...coded(values), ...more };
};
const PLANE = VOLUME.values.subarray(2 * 30, 3 * 30);
const volumePicture: Picture = {
  kind: "volume",
  channel: 0,
  size: [4, 5, 6],
  pooled: false,
  planes: [{ axis: 0, index: 2, rows: 5, columns: 6 }],
  ...coded(PLANE),
};
const classes: Picture = {
  kind: "classes",
  entries: [
    { index: 42, name: "lynx", value: 0.75 },
    { index: 7, name: "", value: 0.125 },
  ],
  count: 100,
  scale: "softmax",
};
const VALUES = {
  words: [shown(WORDS, tokensPicture(WORDS, { labels: LABELS }))],
  patches: [shown(PATCHES, tokensPicture(PATCHES, { grid: [3, 3], special: 1 }))],
  volume: [shown(VOLUME, volumePicture)],
  attention: [shown(WEIGHTS)],
  output: [shown(LOGITS, classes)],
  count: [shown(noise([1], "batch", "scalar"), { kind: "scalar", value: 3, text: "3 lynxes" })],
  empty: [shown(noise([1, 1], "batch feature", "vector"), { kind: "nothing", reason: "empty: 1×0" })],
};

let end: AbortController;
let kernel: Kernel;
let context: ViewContext;

async function open(selected: string): Promise<HTMLElement> {
  const graph = graphOf(
    Object.keys(VALUES).map((id) => stageInfo(id)),
    [edgeInfo("words", "attention")],
  );
  kernel = new Kernel(graph, () => VALUES, { selected });
  context = contextOf(kernel, end.signal);
  const panel = createInspector(context, end.signal);
  document.body.append(panel);
  await settle();
  return panel;
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 12; i++) await Promise.resolve();
};
const text = (root: Element, selector: string): string => root.querySelector(selector)?.textContent ?? "";
const value = (panel: Element): number => Number(text(panel, ".nf-i-value").replace("−", "-"));
const press = (target: Element, key: string): boolean =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const wanted = (): readonly TileRequest[] =>
  kernel.written
    .filter(([name]) => name === "wanted")
    .flatMap(([, said]) => (said as Wanted).tiles)
    .filter(({ leaf }) => leaf !== "pca");
/** The indices of the expression. */
const index = (panel: Element): number[] => JSON.parse(text(panel, ".nf-i-expression").replace(/^.*\)(?=\[)/, ""));
const choose = (panel: Element, label: string, at: number): void => {
  const select = panel.querySelector<HTMLSelectElement>(`[aria-label="${label}"]`)!;
  select.selectedIndex = at;
  select.dispatchEvent(new Event("change"));
};

beforeEach(() => {
  end = new AbortController();
  vi.stubGlobal("IntersectionObserver", undefined);
});
afterEach(() => {
  end.abort();
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

/** The element of an activation at the indices of an expression. */
const elementOf = ({ shape, values }: Activation, at: readonly number[]): number =>
  values[at.reduce((flat, i, axis) => flat * shape[axis]! + i, 0)]!;

describe("tokens of a text", () => {
  test("are a matrix with the words at its rows, read exactly", async () => {
    const panel = await open("words");
    expect([...panel.querySelectorAll(".nf-i-labels button")].map((label) => label.textContent)).toEqual(LABELS);
    expect(value(panel)).toBeCloseTo(elementOf(WORDS, index(panel)), 4);
    panel.querySelectorAll<HTMLElement>(".nf-i-labels button")[2]!.click();
    expect(index(panel)[1]).toBe(2);
    expect(text(panel, ".nf-i-facts-list")).toContain("2 “sat”");
    expect(value(panel)).toBeCloseTo(elementOf(WORDS, index(panel)), 4);
  });

  test("lead to their ranked features", async () => {
    const panel = await open("words");
    const ranked = [...new Int32Array(VALUES.words[0]!.summary.ranking!.order.buffer)];
    const buttons = [...panel.querySelectorAll<HTMLElement>(".nf-i-chips button")];
    expect(buttons.map((button) => Number(button.textContent))).toEqual(ranked);
    buttons[3]!.click();
    expect(index(panel)[2]).toBe(ranked[3]);
    expect(buttons[3]!.getAttribute("aria-pressed")).toBe("true");
  });

  test("travel once, whole", async () => {
    await open("words");
    const asked = new Set(wanted().map(({ key }) => key));
    expect(asked.size).toBe(1);
    expect(wanted()[0]).toMatchObject({ channel: null, region: null, size: null });
  });
});

describe("tokens of patches", () => {
  test("show each feature over the grid, behind the special tokens", async () => {
    const panel = await open("patches");
    expect(panel.querySelectorAll(".nf-i-cell")).toHaveLength(5);
    panel.querySelector<HTMLElement>('[data-item="4"]')!.click();
    const plate = panel.querySelector(".nf-i-plate")!;
    for (const key of ["Home", "PageUp", "ArrowRight", "ArrowDown"]) press(plate, key);
    expect(text(panel, ".nf-i-facts-list")).toContain("y 1 x 1");
    expect(index(panel)).toEqual([0, 1 + 1 * 3 + 1, 4]);
    expect(value(panel)).toBeCloseTo(elementOf(PATCHES, [0, 5, 4]), 4);
    expect(new Set(wanted().map(({ key }) => key)).size).toBe(1);
  });

  test("are a matrix too", async () => {
    const panel = await open("patches");
    choose(panel, "What is shown large", 1);
    await settle();
    expect(text(panel, ".nf-i-title b")).toMatch(/^token \d+, feature \d+$/);
    expect(value(panel)).toBeCloseTo(elementOf(PATCHES, index(panel)), 4);
  });
});

describe("a volume", () => {
  test("opens where the overview was cut, and is read exactly", async () => {
    const panel = await open("volume");
    expect(text(panel, ".nf-i-title b")).toBe("ch 0, depth 2");
    expect(index(panel).slice(0, 3)).toEqual([0, 0, 2]);
    expect(value(panel)).toBeCloseTo(elementOf(VOLUME, index(panel)), 4);
  });

  test("is cut elsewhere with the scroller, for plate and grid alike", async () => {
    const panel = await open("volume");
    const range = panel.querySelector<HTMLInputElement>('input[type="range"]')!;
    expect(range.max).toBe("3");
    range.value = "3";
    range.dispatchEvent(new Event("input"));
    await settle();
    const cuts = wanted().filter(({ slice }) => slice?.join() === "0,3");
    expect(new Set(cuts.map(({ channel }) => channel))).toEqual(new Set([0, 1]));
    expect(index(panel)[2]).toBe(3);
    expect(value(panel)).toBeCloseTo(elementOf(VOLUME, index(panel)), 4);
  });

  test("is cut along another axis", async () => {
    const panel = await open("volume");
    choose(panel, "Axis to cut across", 2);
    await settle();
    expect(panel.querySelector<HTMLInputElement>('input[type="range"]')!.max).toBe("5");
    expect(text(panel, ".nf-i-title b")).toBe("ch 0, width 3");
    expect(index(panel)[4]).toBe(3);
    expect(value(panel)).toBeCloseTo(elementOf(VOLUME, index(panel)), 4);
    press(panel.querySelector(".nf-i-plate")!, "ArrowUp");
    expect(value(panel)).toBeCloseTo(elementOf(VOLUME, index(panel)), 4);
  });
});

describe("attention", () => {
  test("opens at the strongest key of the last query, with the words of the tokens before", async () => {
    const panel = await open("attention");
    panel.querySelector<HTMLElement>('[data-item="0"]')!.click();
    await settle();
    press(panel.querySelector(".nf-i-plate")!, "PageDown");
    press(panel.querySelector(".nf-i-plate")!, "Home");
    press(panel.querySelector(".nf-i-plate")!, "ArrowRight");
    press(panel.querySelector(".nf-i-plate")!, "ArrowRight");
    expect(index(panel)).toEqual([0, 0, 3, 2]);
    expect(value(panel)).toBeCloseTo(0.7, 6);
    expect(text(panel, ".nf-i-facts-list")).toContain("3 “down”");
    expect(text(panel, ".nf-i-facts-list")).toContain("2 “sat”");
    expect(text(panel, ".nf-i-facts-list")).toContain("1.16 bit");
    expect(text(panel, ".nf-i-from b")).toBe("from “down” at 3");
  });

  test("starts at the last query, not at the peak", async () => {
    const panel = await open("attention");
    expect(index(panel)[2]).toBe(3);
  });

  test("draws an arc to each key with weight, and leads to the one that is chosen", async () => {
    const panel = await open("attention");
    panel.querySelector<HTMLElement>('[data-item="0"]')!.click();
    await settle();
    expect(panel.querySelectorAll(".nf-i-arc")).toHaveLength(3);
    const keys = [...panel.querySelectorAll<HTMLElement>(".nf-i-keys button")];
    expect(keys.map((key) => key.textContent)).toEqual(["the.00", "cat.10", "sat.70", "down.20"]);
    keys[1]!.click();
    expect(index(panel)[3]).toBe(1);
    expect(keys[1]!.hasAttribute("data-here")).toBe(true);
  });
});

describe("classes", () => {
  test("are listed with index, name and share, and start the raw values at the best", async () => {
    const panel = await open("output");
    const rows = [...panel.querySelectorAll<HTMLElement>(".nf-i-classes button")];
    expect(rows.map((row) => row.textContent)).toEqual(["42lynx.7500", "7class 7.1250"]);
    const fills = rows.map((row) => row.querySelector<HTMLElement>(".nf-i-class-fill")!.style.width);
    expect(fills.map(Number.parseFloat)).toEqual([75, 12.5]);
    expect(index(panel)).toEqual([0, 42]);
    expect(value(panel)).toBeCloseTo(LOGITS.values[42]!, 4);
    rows[1]!.click();
    expect(index(panel)).toEqual([0, 7]);
    expect(rows.map((row) => row.hasAttribute("data-here"))).toEqual([false, true]);
  });
});

describe("a vector", () => {
  test("moves by arrow keys and says its strongest values", async () => {
    const panel = await open("output");
    const bars = panel.querySelector(".nf-i-bars")!;
    press(bars, "ArrowRight");
    expect(index(panel)).toEqual([0, 43]);
    expect(value(panel)).toBeCloseTo(LOGITS.values[43]!, 4);
    expect(context.view.probe()).toMatchObject({ stage: "output", position: [43], exact: true });
    bars.dispatchEvent(new FocusEvent("focusout", { bubbles: true }));
    expect(context.view.probe()).toBeNull();
    bars.getBoundingClientRect = () => new DOMRect(0, 0, 200, 72);
    bars.dispatchEvent(new PointerEvent("pointermove", { clientX: 15 }));
    expect(context.view.probe()).toMatchObject({ position: [7], exact: true });
    expect(context.view.probe()!.value).toBeCloseTo(LOGITS.values[7]!, 4);
    expect(index(panel)).toEqual([0, 43]);
    bars.dispatchEvent(new PointerEvent("pointerleave"));
    expect(context.view.probe()).toBeNull();
    const best = [...LOGITS.values]
      .map((each, i) => [Math.abs(each), i] as const)
      .sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    const listed = [...panel.querySelectorAll<HTMLElement>(".nf-i-strongest [data-index]")];
    expect(listed.map((each) => Number(each.dataset.index))).toEqual(best.slice(0, 8).map(([, i]) => i));
    listed[2]!.click();
    expect(index(panel)).toEqual([0, best[2]![1]]);
    expect(text(panel, ".nf-i-facts-list")).toContain("3 of 100");
  });
});

test("a scalar is its number, and what has no picture says why", async () => {
  expect(text(await open("count"), ".nf-i-value")).toBe("3 lynxes");
  expect(text(await open("empty"), ".nf-i-hatch")).toBe("empty: 1×0");
});
