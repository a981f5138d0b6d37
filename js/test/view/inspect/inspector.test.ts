// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Picture, TileRequest, Wanted } from "../../../src/protocol";
import type { ViewContext } from "../../../src/state";
import { select } from "../../../src/view/actions";
import { probeText } from "../../../src/view/readout";
import { createInspector } from "../../../src/view/inspector";
import { int32sOf } from "../../../src/wire";
import { type Activation, maps, quantise, summaryOf } from "../../support/activations";
import { contextOf, edgeInfo, graphOf, Kernel, type Shown, stageInfo } from "../../support/kernel";

const shown = (activation: Activation, picture?: Picture): Shown => ({
  activation,
  summary: summaryOf(activation, picture),
});
const SMALL = maps(12, 14, 14);
const LARGE = maps(20, 120, 130);
/** More elements than travel in one piece. */
const HUGE = maps(1, 1030, 1020, 0, 0);
const FLAT = { ...maps(12, 14, 14), values: maps(12, 14, 14).values.slice() };
FLAT.values.fill(7, 3 * 196, 4 * 196);
FLAT.values[5] = Number.NaN;

const LEAVES = [{ path: "", shape: SMALL.shape, dtype: "float32" }];
const STAGES = [
  stageInfo("input", { kind: "input", type_name: "RGB image" }),
  stageInfo("enc", { parameters: 8_800, leaves: LEAVES }),
  stageInfo("big"),
  stageInfo("huge"),
  stageInfo("dec", { leaves: LEAVES }),
  stageInfo("pair", {
    leaves: [
      { path: "h", shape: [1, 12, 14, 14], dtype: "float32" },
      { path: "c", shape: [1, 6], dtype: "float32" },
    ],
  }),
  stageInfo("broken", { status: "raised" }),
];
const EDGES = [
  edgeInfo("input", "enc"),
  edgeInfo("enc", "big"),
  edgeInfo("enc", "dec", {
    kind: "skip",
    via: [{ name: "cat", detail: "dim=1" }],
    shape: SMALL.shape,
    evidence: "inferred",
  }),
];
const FAILURE = {
  type: "RuntimeError",
  message: "Sizes <b>differ</b>",
  op: "cat",
  call: "broken",
  operands: LEAVES,
  location: "net.py:3",
};

const VECTOR: Activation = {
  shape: [1, 6],
  axes: ["batch", "feature"],
  kind: "vector",
  values: Float32Array.from([1, -2, 3, 0, 5, -6]),
};
const VECTOR_PICTURE: Picture = {
  kind: "vector",
  length: 6,
  size: 6,
  pooled: false,
  low: -6,
  high: 6,
  codes: quantise(VECTOR.values, -6, 6),
};

const PHOTO: Picture = {
  kind: "photo",
  rows: 4,
  columns: 4,
  size: [64, 64],
  pooled: true,
  codes: new DataView(new ArrayBuffer(48)),
};
const pair = [shown(SMALL), shown(VECTOR, VECTOR_PICTURE)].map((one, i) => ({
  ...one,
  summary: { ...one.summary, leaf: "hc"[i]! },
}));

// Made once: the summary of a million values takes its time.
const STILL = {
  input: [shown(maps(3, 64, 64), PHOTO)],
  big: [shown(LARGE)],
  huge: [shown(HUGE)],
  dec: [shown(FLAT)],
  pair,
};

function values(frame: number): Record<string, readonly Shown[]> {
  return { ...STILL, enc: [shown(frame === 0 ? SMALL : maps(12, 14, 14, frame))] };
}
const cached = new Map<number, ReturnType<typeof values>>();
const at = (frame: number) => {
  const found = cached.get(frame) ?? values(frame);
  cached.set(frame, found);
  return found;
};

let end: AbortController;
let kernel: Kernel;
let context: ViewContext;

function open(selected: string, traits = {}, alive = true): HTMLElement {
  kernel = new Kernel(graphOf(STAGES, EDGES, { failure: FAILURE }), at, { selected, ...traits }, alive);
  context = contextOf(kernel, end.signal);
  const panel = createInspector(context, end.signal);
  document.body.append(panel);
  return panel;
}

const text = (root: Element, selector: string): string => root.querySelector(selector)?.textContent ?? "";
const settle = async (): Promise<void> => {
  for (let i = 0; i < 12; i++) await Promise.resolve();
};
const press = (target: Element, key: string, more: KeyboardEventInit = {}): KeyboardEvent => {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  target.dispatchEvent(event);
  return event;
};
const wanted = (): readonly TileRequest[] =>
  kernel.written.filter(([name]) => name === "wanted").flatMap(([, value]) => (value as Wanted).tiles);
const facts = (panel: Element): Record<string, string> =>
  Object.fromEntries(
    [...panel.querySelectorAll(".nf-i-facts-list div")].map((row) => [
      row.firstChild!.textContent!,
      row.lastChild!.textContent!,
    ]),
  );

beforeEach(() => {
  end = new AbortController();
  // The observer of the page never calls back without a layout: all rows count as near.
  vi.stubGlobal("IntersectionObserver", undefined);
});
afterEach(() => {
  end.abort();
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

describe("a stage", () => {
  test("says name, type, parameters, the shape of a sample and how its axes were read", () => {
    const panel = open("enc");
    expect(text(panel, ".nf-i-name")).toBe("enc");
    expect(text(panel, ".nf-i-type")).toBe("Sequential · 8.8 k parameters");
    expect(text(panel, ".nf-i-shape")).toBe("12×14×14");
    expect(text(panel, ".nf-i-why")).toBe("batch × channel × height × width · an example");
  });

  test("shows the statistics and all bins of the histogram", () => {
    const panel = open("enc");
    const { statistics, histogram } = at(0).enc![0]!.summary;
    expect(panel.querySelectorAll(".nf-i-statistics dd")).toHaveLength(10);
    expect(text(panel, ".nf-i-statistics")).toContain(`neg${(statistics!.negatives * 100).toFixed(1)}%`);
    const bars = [".nf-i-histogram .nf-i-cool", ".nf-i-histogram .nf-i-warm"].flatMap(
      (selector) => panel.querySelector(selector)!.getAttribute("d")!.match(/M/g) ?? [],
    );
    const filled = int32sOf(histogram!.counts).filter((count) => count > 0).length;
    // The bin that holds zero is drawn in both colours.
    expect(bars.length).toBe(filled + 1);
  });

  test("leads along its edges", () => {
    const panel = open("enc");
    const links = [...panel.querySelectorAll<HTMLElement>("[data-edge]")];
    expect(links.map((link) => link.dataset.edge)).toEqual(["input->enc", "enc->big", "enc->dec"]);
    links[2]!.click();
    expect(kernel.get("selected")).toBe("enc->dec");
    expect(text(panel, ".nf-i-name")).toBe("enc → dec");
  });

  test("that feeds nothing says so", () => {
    expect(text(open("big"), ".nf-i-none")).toBe("feeds nothing");
  });

  test("raises the alarm for NaN and for dead channels", () => {
    const panel = open("dec");
    expect(text(panel, '[data-alarm="not-finite"]')).toContain("1 NaN among 2,352 values");
    expect(text(panel, '[data-alarm="channels"]')).toBe("1 dead");
  });

  test("shows the exception where it raised, as text", () => {
    const panel = open("broken");
    expect(text(panel, ".nf-i-failure code")).toBe("Sizes <b>differ</b>");
    expect(panel.querySelector(".nf-i-failure code b")).toBeNull();
    expect(text(panel, ".nf-i-hatch")).toBe("this stage raised: it gave no values");
  });

  test("with several outputs shows the one that is chosen", () => {
    const panel = open("pair");
    expect(text(panel, ".nf-i-shape")).toBe("12×14×14");
    const select = panel.querySelector<HTMLSelectElement>('[aria-label="Tensor of the stage"]')!;
    select.selectedIndex = 1;
    select.dispatchEvent(new Event("change"));
    expect(text(panel, ".nf-i-shape")).toBe("6");
    expect(panel.querySelector(".nf-i-vector")).not.toBeNull();
    expect(text(panel, ".nf-i-expression")).toBe('flow.activation("pair", "c")[0, 5]');
  });
});

describe("channels", () => {
  test("are shown in the order of their rank, each asked for within the size of its tile", async () => {
    const panel = open("big");
    const ranked = [...new Int32Array(at(0).big![0]!.summary.ranking!.order.buffer)];
    const cells = [...panel.querySelectorAll<HTMLElement>(".nf-i-cell")];
    expect(cells.map((cell) => Number(cell.dataset.item))).toEqual(ranked);
    await settle();
    const small = wanted().filter(({ stage, size }) => stage === "big" && size !== null);
    expect(new Set(small.map(({ channel }) => channel))).toEqual(new Set(ranked));
    expect(small.every(({ size }) => size!.join() === "100,100")).toBe(true);
  });

  test("are coded or hatched until their tiles come, and marked exact only when they are", async () => {
    const panel = open("enc", {});
    kernel.prompt = false;
    const canvases = () => [...panel.querySelectorAll(".nf-i-cell canvas")];
    expect(canvases().filter((canvas) => canvas.hasAttribute("data-exact"))).toHaveLength(0);
    const hatched = open("big").querySelectorAll(".nf-i-tile[data-waiting]");
    expect(hatched).toHaveLength(20 - 16);
    end.abort();
    end = new AbortController();
    const again = open("enc");
    await settle();
    const exact = [...again.querySelectorAll(".nf-i-cell canvas")].filter((canvas) =>
      canvas.hasAttribute("data-exact"),
    );
    expect(exact).toHaveLength(12);
  });

  test("only ask for the rows that come near the view", async () => {
    const observers: { seen: IntersectionObserverCallback; targets: Element[] }[] = [];
    class Observer {
      readonly targets: Element[] = [];
      constructor(readonly seen: IntersectionObserverCallback) {
        observers.push(this);
      }
      observe(target: Element): void {
        this.targets.push(target);
      }
      disconnect(): void {}
    }
    vi.stubGlobal("IntersectionObserver", Observer);
    const panel = open("big");
    expect(panel.querySelectorAll(".nf-i-cell")).toHaveLength(0);
    const [{ seen, targets }] = observers as [(typeof observers)[0]];
    const turn = (row: number, isIntersecting: boolean): void =>
      seen([{ target: targets[row]!, isIntersecting } as unknown as IntersectionObserverEntry], null as never);
    turn(1, true);
    await settle();
    const ranked = [...new Int32Array(at(0).big![0]!.summary.ranking!.order.buffer)];
    const asked = wanted().filter(({ size }) => size !== null);
    expect(new Set(asked.map(({ channel }) => channel))).toEqual(new Set(ranked.slice(8, 16)));
    expect(panel.querySelectorAll(".nf-i-cell")).toHaveLength(8);
    turn(1, false);
    expect(panel.querySelectorAll(".nf-i-cell")).toHaveLength(0);
  });

  test("are chosen by click and by arrow keys, which do not reach the graph", async () => {
    const panel = open("enc");
    await settle();
    const grid = panel.querySelector<HTMLElement>(".nf-i-grid")!;
    const order = [...panel.querySelectorAll<HTMLElement>(".nf-i-cell")].map((cell) => Number(cell.dataset.item));
    expect(text(panel, ".nf-i-title b")).toBe(`ch ${order[0]}`);
    grid
      .querySelector<HTMLElement>(`[data-item="${order[4]}"] canvas`)!
      .dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(text(panel, ".nf-i-title b")).toBe(`ch ${order[4]}`);
    let reached = false;
    panel.addEventListener("keydown", () => {
      reached = true;
    });
    press(grid, "ArrowRight");
    expect(text(panel, ".nf-i-title b")).toBe(`ch ${order[5]}`);
    expect(context.view.channel()).toEqual({ stage: "enc", item: order[5] });
    expect(grid.querySelector(`[data-item="${order[5]}"]`)!.getAttribute("aria-selected")).toBe("true");
    expect(grid.getAttribute("aria-activedescendant")).toBe(grid.querySelector(`[data-item="${order[5]}"]`)!.id);
    expect(reached).toBe(false);
    press(grid, "Enter");
    expect(reached).toBe(true);
  });

  test("keep their order while the input changes", async () => {
    const panel = open("enc", { frame_count: 5 });
    const order = () => [...panel.querySelectorAll<HTMLElement>(".nf-i-cell")].map((cell) => cell.dataset.item);
    const before = order();
    const grid = panel.querySelector(".nf-i-grid");
    kernel.put("overview", kernel.overviewOf(3));
    await settle();
    expect(new Int32Array(at(3).enc![0]!.summary.ranking!.order.buffer).join()).not.toBe(before.join());
    expect(order()).toEqual(before);
    expect(panel.querySelector(".nf-i-grid")).toBe(grid);
    expect(wanted().some(({ frame }) => frame === 3)).toBe(true);
  });

  test("follow the index when the reader asks for it", () => {
    const panel = open("enc");
    const select = panel.querySelector<HTMLSelectElement>('[aria-label="Order of the channels"]')!;
    expect([...select.options].map((option) => option.text)).toEqual(["structure", "index"]);
    select.selectedIndex = 1;
    select.dispatchEvent(new Event("change"));
    expect(kernel.get("options")).toMatchObject({ channel_order: "index" });
    const order = [...panel.querySelectorAll<HTMLElement>(".nf-i-cell")].map((cell) => Number(cell.dataset.item));
    expect(order).toEqual([...Array(12).keys()]);
  });
});

describe("the crosshair", () => {
  const exactAt = (row: number, column: number, channel: number): number =>
    SMALL.values[(channel * 14 + row) * 14 + column]!;
  const place = (panel: Element): [number, number] => {
    const [, row, column] = /y (\d+) x (\d+)/.exec(facts(panel).position!)!;
    return [Number(row), Number(column)];
  };
  const channel = (panel: Element): number => Number(text(panel, ".nf-i-title b").slice(3));

  test("reads ≈ from the overview and the exact value, to six digits, from the tile", async () => {
    const panel = open("enc");
    kernel.prompt = false;
    expect(text(panel, ".nf-i-value")).toMatch(/^≈ /);
    expect(panel.querySelector(".nf-i-value")!.hasAttribute("data-exact")).toBe(false);
    await settle();
    kernel.answer();
    const [row, column] = place(panel);
    const value = exactAt(row, column, channel(panel));
    const said = text(panel, ".nf-i-value").replace("−", "-");
    expect(panel.querySelector(".nf-i-value")!.hasAttribute("data-exact")).toBe(true);
    expect(said.replace(/^-?0?\.?0*/, "").replace(".", "").length).toBeGreaterThanOrEqual(6);
    expect(Number(said)).toBeCloseTo(value, 4);
    expect(panel.querySelector(".nf-i-plate canvas")!.hasAttribute("data-exact")).toBe(true);
  });

  test("starts at the peak, moves with the arrow keys and stays in place when the channel changes", async () => {
    const panel = open("enc");
    await settle();
    const [row, column] = place(panel);
    const plane = SMALL.values.subarray(channel(panel) * 196, (channel(panel) + 1) * 196);
    expect(Math.abs(exactAt(row, column, channel(panel)))).toBe(Math.max(...plane.map(Math.abs)));
    const plate = panel.querySelector(".nf-i-plate")!;
    const event = press(plate, row > 6 ? "ArrowUp" : "ArrowDown");
    expect(event.defaultPrevented).toBe(true);
    const next = place(panel);
    expect(next).toEqual([row > 6 ? row - 1 : row + 1, column]);
    expect(Number(text(panel, ".nf-i-value").replace("−", "-"))).toBeCloseTo(exactAt(...next, channel(panel)), 3);
    press(panel.querySelector(".nf-i-grid")!, "End");
    await settle();
    expect(place(panel)).toEqual(next);
    expect(Number(text(panel, ".nf-i-value").replace("−", "-"))).toBeCloseTo(exactAt(...next, channel(panel)), 3);
  });

  test("says the rank among the channels, the z-score and the Python that gives the value", async () => {
    const panel = open("enc");
    await settle();
    const [row, column] = place(panel);
    const at = channel(panel);
    const here = Array.from({ length: 12 }, (_, c) => Math.abs(exactAt(row, column, c)));
    const rank = 1 + here.filter((value) => value > here[at]!).length;
    expect(facts(panel)["rank here"]).toBe(`${rank} of 12`);
    const plane = [...SMALL.values.subarray(at * 196, (at + 1) * 196)];
    const mean = plane.reduce((sum, value) => sum + value, 0) / 196;
    const std = Math.sqrt(plane.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 196);
    const z = Number(facts(panel)["z in channel"]!.replace("−", "-"));
    expect(z).toBeCloseTo((exactAt(row, column, at) - mean) / std, 1);
    expect(text(panel, ".nf-i-expression")).toBe(`flow.activation("enc")[0, ${at}, ${row}, ${column}]`);
  });

  test("tells the readout what the pointer is on, and takes it back", async () => {
    const panel = open("enc");
    await settle();
    const plate = panel.querySelector<HTMLElement>(".nf-i-plate")!;
    plate.getBoundingClientRect = () => ({ left: 0, top: 0, width: 224, height: 224 }) as DOMRect;
    plate.dispatchEvent(new PointerEvent("pointermove", { clientX: 16 * 3 + 1, clientY: 16 * 2 + 1, bubbles: true }));
    const probe = context.view.probe()!;
    expect(probe).toMatchObject({ stage: "enc", part: `ch ${channel(panel)}`, position: [2, 3], exact: true });
    expect(probe.value).toBe(exactAt(2, 3, channel(panel)));
    plate.dispatchEvent(new PointerEvent("pointerleave"));
    expect(context.view.probe()).toBeNull();
  });

  test("reads a difference with both its values, and says how to get it", async () => {
    const panel = open("enc");
    const overview = kernel.overviewOf(1);
    const enc = overview.stages.enc!.map((summary) => ({ ...summary, reference: 0 }));
    kernel.put("overview", { ...overview, stages: { ...overview.stages, enc } });
    await settle();
    const [here, there] = wanted().filter(
      ({ stage, reference, channel: item, size }) =>
        stage === "enc" && reference === null && item === channel(panel) && size === null,
    );
    expect([here!.frame, there!.frame]).toEqual([1, 0]);
    expect(wanted().some(({ stage, reference, frame }) => stage === "enc" && reference === 0 && frame === 1)).toBe(
      true,
    );
    expect(text(panel, ".nf-i-expression")).toMatch(/^flow.activation\("enc", frame=1\).* - flow.activation\("enc"\)/);
    expect(Object.keys(facts(panel))).toEqual(expect.arrayContaining(["here", "frame 1"]));
    const plate = panel.querySelector<HTMLElement>(".nf-i-plate")!;
    plate.getBoundingClientRect = () => ({ left: 0, top: 0, width: 224, height: 224 }) as DOMRect;
    plate.dispatchEvent(new PointerEvent("pointermove", { clientX: 50, clientY: 34, bubbles: true }));
    const { minus } = context.view.probe()!;
    expect(minus?.frame).toBe(0);
    const [value, before] = minus!.values;
    expect(before).toBe(exactAt(2, 3, channel(panel)));
    const first = context.view.probe()!;
    expect(probeText({ ...first, value: 2, minus: { frame: 0, values: [5, 3] } }, "enc")).toMatch(
      /· Δ = 2(\.0*)? \(5(\.0*)?, in frame 1 3(\.0*)?\)$/,
    );
    expect(probeText({ ...first, value: 2, minus: { frame: 0, values: [] } }, "enc")).toMatch(
      /Δ = 2(\.0*)? to frame 1$/,
    );
    expect(value).not.toBe(before);
  });

  test("marks the place in the input photo", async () => {
    const panel = open("enc");
    await settle();
    expect(panel.querySelector<HTMLElement>(".nf-i-input")!.hidden).toBe(false);
    const before = panel.querySelector(".nf-i-photo path")!.getAttribute("d");
    press(panel.querySelector(".nf-i-plate")!, "Home");
    expect(panel.querySelector(".nf-i-photo path")!.getAttribute("d")).not.toBe(before);
    expect(open("big").querySelector<HTMLElement>(".nf-i-input")!.hidden).toBe(false);
    expect(open("dec->x").querySelector(".nf-i-input")).toBeNull();
  });

  test("reads the exact value of a slice too large to travel, from its row and column", async () => {
    const panel = open("huge");
    await settle();
    const whole = wanted().filter(({ region }) => region === null);
    expect(whole.every(({ size }) => size !== null)).toBe(true);
    const lines = wanted().filter(({ region }) => region !== null);
    expect(lines.length).toBeGreaterThanOrEqual(2);
    const [row, column] = place(panel);
    expect(panel.querySelector(".nf-i-value")!.hasAttribute("data-exact")).toBe(true);
    expect(panel.querySelector(".nf-i-plate canvas")!.hasAttribute("data-exact")).toBe(false);
    const value = HUGE.values[row * 1020 + column]!;
    expect(Number(text(panel, ".nf-i-value").replace("−", "-"))).toBeCloseTo(value, 4);
  });

  test("says why an exact value cannot be had", async () => {
    const panel = open("enc", {}, false);
    kernel.prompt = false;
    await settle();
    expect(text(panel, ".nf-i-waiting")).toBe("exact values need the kernel");
    const tiles = wanted().map(({ key }) => ({
      key,
      rows: 0,
      columns: 0,
      dtype: "float32",
      low: null,
      high: null,
      mean: null,
      exact: false,
      error: "The model raised.",
      data: new DataView(new ArrayBuffer(0)),
    }));
    kernel.put("tiles", { seq: 99, tiles });
    expect(text(panel, ".nf-i-waiting[data-failed]")).toBe("The model raised.");
    expect(text(panel, ".nf-i-value")).toMatch(/^≈ /);
  });
});

describe("copying", () => {
  const flush = () => new Promise((done) => setTimeout(done));

  test("puts the Python on the clipboard", async () => {
    const written: string[] = [];
    vi.stubGlobal("navigator", { clipboard: { writeText: async (words: string) => written.push(words) } });
    const panel = open("enc");
    await settle();
    panel.querySelector<HTMLElement>('[aria-label="Copy the Python expression"]')!.click();
    await flush();
    expect(written).toEqual([text(panel, ".nf-i-expression")]);
    expect(text(panel, ".nf-i-said")).toBe("copied");
  });

  test("selects the text where the clipboard is denied", async () => {
    vi.stubGlobal("navigator", { clipboard: { writeText: () => Promise.reject(new Error("denied")) } });
    const panel = open("enc");
    await settle();
    panel.querySelector<HTMLElement>('[aria-label="Copy the Python expression"]')!.click();
    await flush();
    expect(text(panel, ".nf-i-said")).toContain("selected");
    expect(getSelection()!.toString()).toBe(text(panel, ".nf-i-expression"));
  });
});

describe("an edge", () => {
  test("says its kind, its evidence, the ops with their arguments and what crosses", async () => {
    const panel = open("enc->dec");
    const said = text(panel, ".nf-i-terms");
    expect(said).toContain("skip");
    expect(said).toContain("inferred: a step could not be seen");
    expect(text(panel, ".nf-i-ops")).toBe("cat(dim=1)");
    expect(said).toContain("1×12×14×14");
    await settle();
    const cells = panel.querySelectorAll<HTMLElement>(".nf-i-cell");
    expect(cells).toHaveLength(12);
    expect(wanted().every(({ stage }) => stage === "enc")).toBe(true);
  });

  test("opens its source at the channel that is chosen", async () => {
    const panel = open("enc->dec");
    await settle();
    panel.querySelector<HTMLElement>('[data-item="5"]')!.click();
    expect(kernel.get("selected")).toBe("enc");
    expect(text(panel, ".nf-i-title b")).toBe("ch 5");
  });
});

describe("the panel", () => {
  test("hints at what to select, and lists what is known of the model", () => {
    const panel = open("");
    expect(text(panel, ".nf-i-hint")).toContain("Select a stage or an edge");
    expect(text(panel, ".nf-i-terms")).toContain("edges traced at run time");
  });

  test("draws and asks for nothing while it is closed", async () => {
    const panel = open("enc");
    context.view.inspector.set(false);
    expect(panel.querySelector(".nf-i-body")!.childNodes).toHaveLength(0);
    await settle();
    kernel.written.length = 0;
    kernel.put("overview", kernel.overviewOf(2));
    await settle();
    expect(wanted()).toEqual([]);
  });

  test("forgets the reader's channel when another stage is selected elsewhere", () => {
    const panel = open("enc");
    const first = text(panel, ".nf-i-title b");
    press(panel.querySelector<HTMLElement>(".nf-i-grid")!, "ArrowRight");
    expect(text(panel, ".nf-i-title b")).not.toBe(first);
    kernel.put("selected", "dec");
    kernel.put("selected", "enc");
    expect(text(panel, ".nf-i-title b")).toBe(first);
    expect(context.view.channel()).toBeNull();
  });

  test("takes the channel that the reader pointed at in the graph", () => {
    const panel = open("enc");
    select(context, "dec", 7);
    expect(text(panel, ".nf-i-title b")).toBe("ch 7");
  });

  test("lets go of everything at its end", async () => {
    open("enc");
    await settle();
    end.abort();
    expect(kernel.listening).toBe(0);
    kernel.written.length = 0;
    context.view.channel.set({ stage: "enc", item: 3 });
    kernel.put("overview", kernel.overviewOf(2));
    await settle();
    expect(kernel.written).toEqual([]);
  });

  test("names everything that can be reached with the keyboard", () => {
    for (const selected of ["enc", "pair", "enc->dec", ""]) {
      const panel = open(selected);
      for (const element of panel.querySelectorAll<HTMLElement>("button, select, input, [tabindex='0']")) {
        const name = element.getAttribute("aria-label") ?? element.textContent?.trim() ?? "";
        expect(name, element.outerHTML).not.toBe("");
      }
    }
  });
});
