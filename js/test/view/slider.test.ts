// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Picture, Traits } from "../../src/protocol";
import { pairOf, requestFor, type ViewContext } from "../../src/state";
import { sparkFrame, sparkline } from "../../src/view/draw/spark";
import { remember } from "../../src/view/slide/memory";
import { createSlider } from "../../src/view/slider";
import { maps, summaryOf } from "../support/activations";
import { contextOf, graphOf, Kernel, type Shown, stageInfo } from "../support/kernel";

const GRAPH = graphOf([stageInfo("input", { kind: "input" }), stageInfo("output", { kind: "output" })], []);
const TINY = maps(3, 2, 2);
const photo: Picture = {
  kind: "photo",
  rows: 2,
  columns: 2,
  size: [2, 2],
  pooled: false,
  codes: new DataView(new ArrayBuffer(12)),
};
const BEST = ["cat", "cat", "lynx", "cat", "cat"];

const at = (frame: number): Record<string, readonly Shown[]> => {
  const entries = [{ index: 1, name: BEST[frame]!, value: 0.5 }];
  const classes: Picture = { kind: "classes", entries, count: 12, scale: "softmax" };
  return {
    input: [{ activation: TINY, summary: summaryOf(TINY, photo) }],
    output: [{ activation: TINY, summary: summaryOf(TINY, classes) }],
  };
};

let end: AbortController;
let kernel: Kernel;
let context: ViewContext;
let reduced: (matches: boolean) => void;

function open(traits: Partial<Traits> = {}, alive = true, held?: readonly number[]): HTMLElement {
  kernel = new Kernel(GRAPH, at, { frame_count: 5, frame_labels: ["σ = 0", "σ = 1"], ...traits }, alive);
  if (held !== undefined) kernel.frames = held;
  context = contextOf(kernel, end.signal);
  const slider = createSlider(context, end.signal);
  document.body.append(slider);
  return slider;
}

const frames = (): unknown[] => kernel.written.filter(([name]) => name === "frame").map(([, value]) => value);
const range = (slider: Element): HTMLInputElement => slider.querySelector<HTMLInputElement>('input[type="range"]')!;
const drag = (slider: Element, to: number): void => {
  range(slider).value = String(to);
  range(slider).dispatchEvent(new Event("input", { bubbles: true }));
};
const press = (target: Element, key: string): void => {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};
const play = (slider: Element): HTMLButtonElement => slider.querySelector<HTMLButtonElement>(".nf-s-play")!;

beforeEach(() => {
  end = new AbortController();
  vi.useFakeTimers();
  vi.stubGlobal("matchMedia", () => {
    const query = Object.assign(new EventTarget(), { matches: false });
    reduced = (matches) => {
      query.matches = matches;
      query.dispatchEvent(new Event("change"));
    };
    return query;
  });
});
afterEach(() => {
  end.abort();
  document.body.replaceChildren();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("what there is to choose", () => {
  test("nothing: hidden", () => {
    expect(open({ frame_count: 1 }).hidden).toBe(true);
  });

  test("frames: shown with label, place and a name for screen readers", () => {
    const slider = open();
    expect(slider.hidden).toBe(false);
    expect(slider.querySelector(".nf-s-label")!.textContent).toBe("σ = 0");
    expect(slider.querySelector(".nf-s-place")!.textContent).toBe("frame 1 of 5");
    expect(range(slider).getAttribute("aria-valuetext")).toBe("σ = 0, frame 1 of 5");
    expect(range(slider).max).toBe("4");
  });

  test("samples alone: the chooser alone", () => {
    const slider = open({ frame_count: 1, sample_count: 8 });
    expect(slider.hidden).toBe(false);
    expect(slider.querySelector<HTMLElement>(".nf-s-film")!.hidden).toBe(true);
    const number = slider.querySelector<HTMLInputElement>('input[type="number"]')!;
    number.value = "99";
    number.dispatchEvent(new Event("change"));
    expect(kernel.get("sample")).toBe(7);
    expect(number.value).toBe("7");
    number.value = "";
    number.dispatchEvent(new Event("change"));
    expect(kernel.get("sample")).toBe(0);
  });

  test("a label that is not there leaves no gap", () => {
    const slider = open();
    drag(slider, 3);
    expect(slider.querySelector<HTMLElement>(".nf-s-label")!.hidden).toBe(true);
    expect(range(slider).getAttribute("aria-valuetext")).toBe("frame 4 of 5");
  });
});

describe("moving", () => {
  test("writes the frame at once, then the last one of many", () => {
    const slider = open();
    for (const frame of [1, 2, 3, 4]) drag(slider, frame);
    expect(frames()).toEqual([1]);
    expect(slider.querySelector(".nf-s-place")!.textContent).toBe("frame 5 of 5");
    vi.advanceTimersByTime(200);
    expect(frames()).toEqual([1, 4]);
  });

  test("follows the trait when another moves it", () => {
    const slider = open();
    kernel.put("frame", 3);
    expect(range(slider).value).toBe("3");
    expect(frames()).toEqual([]);
  });

  test("steps by button and arrow key, and stops at the ends", () => {
    const slider = open();
    const [back, forward] = ["Previous frame", "Next frame"].map(
      (name) => slider.querySelector<HTMLButtonElement>(`[aria-label="${name}"]`)!,
    );
    expect(back!.disabled).toBe(true);
    forward!.click();
    press(slider, "ArrowRight");
    expect(slider.querySelector(".nf-s-place")!.textContent).toBe("frame 3 of 5");
    for (let i = 0; i < 9; i++) press(slider, "ArrowRight");
    expect(slider.querySelector(".nf-s-place")!.textContent).toBe("frame 5 of 5");
    expect(forward!.disabled).toBe(true);
  });

  test("keeps its keys from the graph, but not Escape", () => {
    const slider = open();
    const seen: string[] = [];
    document.body.addEventListener("keydown", (event) => seen.push(event.key), { signal: end.signal });
    press(range(slider), "ArrowRight");
    press(slider, "ArrowLeft");
    press(slider, "Escape");
    expect(seen).toEqual(["Escape"]);
  });

  test("says that the pictures lag behind", async () => {
    const slider = open();
    kernel.prompt = false;
    drag(slider, 2);
    expect(slider.querySelector(".nf-s-marker")!.hasAttribute("data-waiting")).toBe(true);
    kernel.put("overview", kernel.overviewOf(2));
    expect(slider.querySelector(".nf-s-marker")!.hasAttribute("data-waiting")).toBe(false);
  });
});

describe("playing", () => {
  test("goes through all frames and stops at the last", async () => {
    const slider = open();
    play(slider).click();
    expect(play(slider).getAttribute("aria-label")).toBe("Pause");
    await vi.advanceTimersByTimeAsync(2000);
    expect(frames()).toEqual([1, 2, 3, 4]);
    expect(play(slider).getAttribute("aria-label")).toBe("Play");
    await vi.advanceTimersByTimeAsync(2000);
    expect(frames()).toHaveLength(4);
  });

  test("waits for the pictures of each frame", async () => {
    const slider = open();
    kernel.prompt = false;
    press(slider, " ");
    await vi.advanceTimersByTimeAsync(3000);
    expect(frames()).toEqual([1]);
    kernel.put("overview", kernel.overviewOf(1));
    await vi.advanceTimersByTimeAsync(1000);
    expect(frames()).toEqual([1, 2]);
  });

  test("starts again from the first frame", async () => {
    const slider = open({ frame: 4 });
    play(slider).click();
    await vi.advanceTimersByTimeAsync(300);
    expect(frames().slice(0, 2)).toEqual([0, 1]);
  });

  test("stops when the reader moves", async () => {
    const slider = open();
    play(slider).click();
    await vi.advanceTimersByTimeAsync(200);
    drag(slider, 3);
    await vi.advanceTimersByTimeAsync(2000);
    expect(frames().at(-1)).toBe(3);
  });

  test("is off while the system asks for reduced motion", async () => {
    const slider = open();
    play(slider).click();
    reduced(true);
    expect(play(slider).disabled).toBe(true);
    await vi.advanceTimersByTimeAsync(2000);
    expect(frames()).toEqual([]);
    press(slider, " ");
    await vi.advanceTimersByTimeAsync(2000);
    expect(frames()).toEqual([]);
    reduced(false);
    expect(play(slider).disabled).toBe(false);
  });

  test("stops where no kernel answers, and at its end", async () => {
    const slider = open({}, false);
    play(slider).click();
    await vi.advanceTimersByTimeAsync(1000);
    expect(frames()).toEqual([]);
    end.abort();
    end = new AbortController();
    const other = open();
    play(other).click();
    end.abort();
    await vi.advanceTimersByTimeAsync(1000);
    expect(frames()).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("without a kernel", () => {
  const off = (slider: Element): Record<string, string> =>
    Object.fromEntries(
      [...slider.querySelectorAll<HTMLButtonElement>("button:disabled, input:disabled")].map((control) => [
        control.getAttribute("aria-label") ?? control.parentElement!.textContent!,
        control.title,
      ]),
    );

  test("one frame: nothing moves, and each control says why", () => {
    const slider = open({ frame: 2, sample_count: 4 }, false);
    drag(slider, 4);
    press(slider, "ArrowLeft");
    expect(frames()).toEqual([]);
    expect(range(slider).value).toBe("2");
    const others = "Other frames need the kernel";
    expect(off(slider)).toMatchObject({
      Frame: others,
      "Previous frame": others,
      "Next frame": others,
      Play: "Playing needs the kernel",
      "Pin this frame: show differences to it": "Differences need the kernel",
      "Sample of the batch": "Other samples need the kernel",
      "channels and their order": "Other pictures need the kernel",
    });
  });

  test("a page that holds some frames: moves to them alone", async () => {
    const slider = open({ frame: 2 }, false, [0, 2, 3]);
    expect(Object.keys(off(slider))).not.toContain("Frame");
    drag(slider, 1);
    await vi.advanceTimersByTimeAsync(100);
    drag(slider, 4);
    await vi.advanceTimersByTimeAsync(100);
    expect(range(slider).value).toBe("3");
    expect(off(slider)["Next frame"]).toBe("No frame after it");
    press(slider, "ArrowLeft");
    await vi.advanceTimersByTimeAsync(100);
    press(slider, "ArrowLeft");
    expect(frames()).toEqual([0, 3, 2, 0]);
  });

  test("a page that holds some frames: plays them", async () => {
    const slider = open({ frame: 0 }, false, [0, 2, 3]);
    expect(play(slider).disabled).toBe(false);
    play(slider).click();
    await vi.advanceTimersByTimeAsync(2000);
    expect(frames()).toEqual([2, 3]);
    expect(play(slider).getAttribute("aria-label")).toBe("Play");
  });
});

describe("how it plays", () => {
  const choose = (slider: Element, name: string, index: number): void => {
    const select = slider.querySelector<HTMLSelectElement>(`select[aria-label="${name}"]`)!;
    select.selectedIndex = index;
    select.dispatchEvent(new Event("change"));
  };
  const box = (slider: Element, label: string): HTMLInputElement =>
    [...slider.querySelectorAll("label")].find(({ textContent }) => textContent === label)!.querySelector("input")!;
  const tick = (input: HTMLInputElement, on: boolean): void => {
    input.checked = on;
    input.dispatchEvent(new Event("change"));
  };

  test("at the speed that the reader has chosen, also while it plays", async () => {
    const slider = open();
    play(slider).click();
    await vi.advanceTimersByTimeAsync(130);
    expect(frames()).toEqual([1]);
    choose(slider, "Speed", 3);
    await vi.advanceTimersByTimeAsync(100);
    expect(frames()).toEqual([1, 2, 3]);
  });

  test("in a loop until the reader stops it", async () => {
    const slider = open();
    tick(box(slider, "in a loop"), true);
    play(slider).click();
    await vi.advanceTimersByTimeAsync(900);
    expect(frames().slice(0, 6)).toEqual([1, 2, 3, 4, 0, 1]);
    tick(box(slider, "in a loop"), false);
    await vi.advanceTimersByTimeAsync(2000);
    expect(frames().at(-1)).toBe(4);
    expect(play(slider).getAttribute("aria-label")).toBe("Play");
  });

  test("with channels and colours held, or let go, and the colours' range by stage or by picture", () => {
    const slider = open();
    const [channels, colours] = ["channels and their order", "ranges of the colours"].map((name) => box(slider, name));
    expect([channels!.checked, colours!.checked]).toEqual([true, true]);
    tick(channels!, false);
    tick(colours!, false);
    choose(slider, "Range of the colours", 1);
    const { hold_channels, hold_colours, normalisation } = context.widget.options();
    expect([hold_channels, hold_colours, normalisation]).toEqual([false, false, "channel"]);
  });
});

describe("differences", () => {
  const pin = (slider: Element): HTMLButtonElement =>
    slider.querySelector<HTMLButtonElement>('[aria-label^="Pin this frame"]')!;
  const reset = (slider: Element): HTMLButtonElement =>
    slider.querySelector<HTMLButtonElement>('[aria-label$="how values again"]')!;

  test("are to the frame that was pinned, until they are reset", () => {
    const slider = open({ frame: 2 });
    expect(reset(slider).hidden).toBe(true);
    pin(slider).click();
    expect(kernel.get("reference")).toBe(2);
    // The pictures are still those of values.
    const waits = () => slider.querySelector(".nf-s-marker")!.hasAttribute("data-waiting");
    expect(waits()).toBe(true);
    kernel.put("overview", { ...kernel.overviewOf(2), reference: 2 });
    expect(waits()).toBe(false);
    expect(pin(slider).disabled).toBe(true);
    expect(reset(slider).textContent).toContain("frame 3");
    drag(slider, 4);
    pin(slider).click();
    expect(kernel.get("reference")).toBe(4);
    reset(slider).click();
    expect(kernel.get("reference")).toBeNull();
    expect(pin(slider).getAttribute("aria-pressed")).toBe("false");
  });

  test("are asked for as differences, and photos as they are", () => {
    open();
    const [input, output] = [at(1).input![0]!.summary, at(1).output![0]!.summary];
    const stages = { input: [input], output: [{ ...output, reference: 0 }] };
    kernel.put("overview", { version: 1, frame: 1, sample: 0, reference: 0, stages });
    const ask = (stage: string) => requestFor(context.widget, stage, "", { channel: 0 });
    expect(ask("input").reference).toBeNull();
    expect(ask("output")).toMatchObject({ frame: 1, reference: 0 });
    const parts = pairOf(context.widget, ask("output"));
    expect(parts.map(({ frame, reference }) => [frame, reference])).toEqual([
      [1, null],
      [0, null],
    ]);
    expect(new Set([...parts, ask("output")].map(({ key }) => key)).size).toBe(3);
  });
});

describe("what has been seen", () => {
  test("becomes runs of the best class, which lead back to their frames", () => {
    const slider = open();
    for (const frame of [1, 2, 3]) kernel.put("overview", kernel.overviewOf(frame));
    const runs = () => [...slider.querySelectorAll<HTMLElement>(".nf-s-ribbon button")];
    expect(runs().map((run) => run.textContent)).toEqual(["cat", "lynx", "cat"]);
    runs()[1]!.click();
    expect(frames()).toEqual([2]);
    expect(runs().map((run) => run.hasAttribute("data-here"))).toEqual([false, true, false]);
  });

  test("is filled up with pictures that the kernel made while idle", () => {
    const slider = open({ frame_count: 100 });
    const memory = remember(context.widget, context.view.ratio, end.signal);
    expect(memory.thumbnail(40, 3)).toBeNull();
    kernel.put("thumbnails", { sample: 0, frames: { 42: photo } });
    expect([memory.thumbnail(40, 1), memory.thumbnail(40, 3)?.width]).toEqual([null, 2]);
    kernel.put("thumbnails", { sample: 1, frames: { 42: photo } });
    expect(memory.thumbnail(42, 3)).toBeNull();
    expect(slider.querySelector(".nf-s-strip")).not.toBeNull();
  });

  test("draws the mean of each stage, and a click on it leads to a frame", () => {
    open();
    const cell = { x: 0, y: 0, width: 40, height: 8 };
    expect(sparkline(context.widget, "input", cell)).toBeNull();
    for (const frame of [1, 3]) kernel.put("overview", kernel.overviewOf(frame));
    const spark = sparkline(context.widget, "input", cell)!;
    // Frames 0, 1 and 3 of 5, all with one mean, and the dot at the last of them.
    expect([...spark.querySelectorAll("path")].map((path) => path.getAttribute("d"))).toEqual([
      "M0 4L10 4L30 4",
      "M30 4h0",
    ]);
    spark.querySelector("rect")!.getBoundingClientRect = () => new DOMRect(100, 0, 40, 12);
    expect(sparkFrame(spark.querySelector("path")!, new MouseEvent("click", { clientX: 121 }))).toBe(2);
    expect(sparkFrame(document.body, new MouseEvent("click", { clientX: 121 }))).toBeNull();
    kernel.put("overview", { ...kernel.overviewOf(3), sample: 1 });
    expect(sparkline(context.widget, "input", cell)).toBeNull();
  });

  test("is forgotten when trace or sample change", () => {
    const slider = open();
    for (const frame of [1, 2]) kernel.put("overview", kernel.overviewOf(frame));
    kernel.put("overview", { ...kernel.overviewOf(3), sample: 1 });
    expect(slider.querySelectorAll(".nf-s-ribbon button")).toHaveLength(1);
  });
});
