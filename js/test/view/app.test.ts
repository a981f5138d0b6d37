// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Status, Wanted } from "../../src/protocol";
import { SLOW_AFTER_MS } from "../../src/silence";
import { maps, summaryOf } from "../support/activations";
import { edgeInfo, graphOf, Kernel, type Shown, stageInfo } from "../support/kernel";
import {
  click,
  installResizeObserver,
  observed,
  open,
  type Opened,
  point,
  press,
  resize,
  settle,
} from "../support/view";

const A = maps(8, 64, 64);
const leaf = { path: "", shape: A.shape, dtype: "float32" };
const stage = (id: string, more = {}) => stageInfo(id, { leaves: [leaf], label: id, ...more });

const STAGES = [
  stage("input", { kind: "input", type_name: "RGB image" }),
  stage("enc1", { expandable: true }),
  stage("mid"),
  stage("dec1", { type_name: "<img src=x>" }),
  stage("output", { kind: "output" }),
];
const EDGES = [
  edgeInfo("input", "enc1", { shape: A.shape }),
  edgeInfo("enc1", "mid"),
  edgeInfo("mid", "dec1"),
  edgeInfo("enc1", "dec1", { kind: "skip", via: [{ name: "cat", detail: "dim=1" }], shape: [1, 64, 128, 128] }),
  edgeInfo("dec1", "output"),
];
const GRAPH = graphOf(STAGES, EDGES);
const SHOWN: readonly Shown[] = [{ activation: A, summary: summaryOf(A) }];
const VALUES = Object.fromEntries(STAGES.map(({ id }) => [id, SHOWN]));
const values = (): Readonly<Record<string, readonly Shown[]>> => VALUES;
const status = (more: Partial<Status>): Status => ({
  state: "idle",
  text: "",
  done: 0,
  total: 0,
  error: null,
  beat: 9,
  ...more,
});

let kernel: Kernel;
let shown: Opened;

beforeAll(installResizeObserver);
beforeEach(() => {
  kernel = new Kernel(GRAPH, values);
  shown = open(kernel);
});
afterEach(() => {
  shown.close();
  shown.end();
  vi.useRealTimers();
  document.body.replaceChildren();
});

const written = (name: string): unknown[] =>
  kernel.written.filter(([trait]) => trait === name).map(([, value]) => value);
const lit = (): string[] =>
  [...shown.host.querySelectorAll<SVGGElement>(".nf-stage.nf-lit")].map((each) => each.dataset.stage!);

describe("the picture", () => {
  it("has an element for each stage and edge, with its handles and its name in words", () => {
    expect(shown.host.querySelectorAll(".nf-stage")).toHaveLength(5);
    expect(shown.host.querySelectorAll(".nf-edge")).toHaveLength(5);
    expect(shown.edge("enc1", "dec1").dataset.kind).toBe("skip");
    expect(shown.stage("enc1").getAttribute("aria-label")).toMatch(/^enc1 Sequential 8×64×64 /);
    expect(shown.root.dataset.state).toBe("idle");
  });

  it("shows names as text, whatever is in them", () => {
    expect(shown.host.querySelector("img")).toBeNull();
    expect(shown.stage("dec1").textContent).toContain("<img src=x>");
  });

  it("draws every edge with its head at its target, whatever stages are called", () => {
    const names = ["input", `<img src=x>"'\`</script>`, "__proto__", "constructor", "url(#a)->b", "output"];
    const edges = names.slice(1).map((name, i) => edgeInfo(names[i]!, name));
    kernel.put(
      "graph",
      graphOf(
        names.map((name) => stage(name)),
        edges,
      ),
    );
    for (const [i, { source, target }] of edges.entries()) {
      const edge = shown.host.querySelectorAll<SVGGElement>(".nf-edge")[i]!;
      expect([edge.dataset.source, edge.dataset.target]).toEqual([source, target]);
      const ends = [
        edge.querySelector(".nf-edge-head")!.parentElement!,
        shown.host.querySelectorAll<SVGGElement>(".nf-stage")[i + 1]!,
      ];
      const [tip, card] = [ends[0]!.getAttribute("transform")!, ends[1]!.style.transform].map((text) =>
        Number(/translate\(([\d.]+)/.exec(text)![1]),
      );
      expect(tip).toBe(card);
      expect(edge.querySelector(".nf-edge-line")!.getAttribute("d")).toMatch(/^M[\d.]+ [\d.]+L/);
    }
  });

  it("says while cards glide to other places, since lines wait for them", () => {
    vi.useFakeTimers();
    const moving = (): boolean => shown.host.querySelector(".nf-moving .nf-edges") !== null;
    expect(moving()).toBe(false);
    resize(600);
    expect(moving()).toBe(true);
    vi.advanceTimersByTime(1000);
    expect(moving()).toBe(false);
  });

  it("is drawn from the overview, which is not exact", () => {
    expect(shown.stage("mid").querySelectorAll("image").length).toBeGreaterThan(3);
    expect(shown.host.querySelector("[data-exact]")).toBeNull();
  });

  it("has names and shapes before there is an overview, and says what is being captured", () => {
    shown.close();
    kernel.put("overview", {});
    kernel.put("status", status({ state: "busy", text: "capturing", done: 2, total: 5 }));
    shown = shown.another();
    expect(shown.root.dataset.state).toBe("busy");
    expect(shown.stage("enc1").textContent).toContain("8×64×64");
    expect(shown.one(".nf-toolbar").textContent).toContain("capturing 2 of 5");
    expect(shown.stage("mid").querySelector(".nf-ring")).not.toBeNull();
    expect(shown.stage("enc1").querySelector(".nf-ring")).toBeNull();
  });

  it("keeps the elements of stages that stay when the graph changes", () => {
    const before = shown.stage("mid");
    kernel.put("graph", graphOf(STAGES.slice(0, 3), EDGES.slice(0, 2)));
    expect(shown.stage("mid")).toBe(before);
    expect(shown.host.querySelector('[data-stage="output"]')).toBeNull();
    expect(shown.host.querySelectorAll(".nf-edge")).toHaveLength(2);
  });

  it("keeps the last good graph when a message cannot be read, and says so", () => {
    kernel.put("graph", { ...GRAPH, version: 99 });
    expect(shown.root.dataset.state).toBe("error");
    expect(shown.one(".nf-message").textContent).toContain("version 99");
    expect(shown.host.querySelectorAll(".nf-stage")).toHaveLength(5);
    kernel.put("graph", GRAPH);
    expect(shown.root.dataset.state).toBe("idle");
  });
});

describe("hovering", () => {
  it("an edge lights it and its two stages and writes it out", () => {
    point(shown.edge("enc1", "dec1"), "pointermove");
    expect(shown.readout).toBe("enc1 → dec1 · skip · cat(dim=1) · 64×128×128");
    expect(lit()).toEqual(["enc1", "dec1"]);
    expect(shown.edge("enc1", "dec1").classList.contains("nf-lit")).toBe(true);
    expect(shown.edge("enc1", "mid").classList.contains("nf-lit")).toBe(false);
    expect(shown.one(".nf-hover").textContent).toContain("enc1 → dec1");
    point(shown.one(".nf-svg"), "pointermove");
    expect(shown.host.querySelector(".nf-dimming, .nf-hover")).toBeNull();
  });

  it("a stage lights what it came from and what it leads to", () => {
    point(shown.stage("mid"), "pointermove");
    expect(lit()).toEqual(["input", "enc1", "mid", "dec1", "output"]);
    expect(shown.edge("enc1", "dec1").classList.contains("nf-lit")).toBe(false);
    expect(shown.readout).toContain("mid");
  });

  it("a picture tells channel, place and value: about at first, exactly when the tile is there", async () => {
    vi.useFakeTimers();
    const [x, y] = placeOf("mid", 20, 30);
    point(shown.stage("mid"), "pointermove", x, y);
    const rough = shown.readout;
    expect(rough).toMatch(/^mid · channel \d+ · row \d+ · column \d+ = ≈ /);
    expect(written("wanted")).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(200);
    const found = /channel (\d+) · row (\d+) · column (\d+) = (.*)$/.exec(shown.readout)!;
    const [channel, row, column] = found.slice(1, 4).map(Number) as [number, number, number];
    const value = A.values[(channel * 64 + row) * 64 + column]!;
    expect(Number(found[4]!.replace("−", "-"))).toBeCloseTo(value, 4);
    expect((written("wanted")[0] as Wanted).tiles.map(({ channel: c, size }) => [c, size])).toEqual([[channel, null]]);
  });
});

/** A point of the page that lies at (x, y) from the corner of a stage's first tile. */
function placeOf(id: string, x: number, y: number): [number, number] {
  const at = (text: string | null): [number, number] => {
    const [u, v] = [...(text ?? "").matchAll(/-?[\d.]+/g)].map(Number) as [number, number];
    return [u, v];
  };
  const scene = shown.one<SVGGElement>(".nf-scene").style.transform;
  const k = Number(/scale\(([\d.]+)\)/.exec(scene)![1]);
  const card = at(shown.stage(id).style.transform);
  const picture = at(shown.stage(id).querySelector(".nf-picture")!.getAttribute("transform"));
  const tile = [...shown.stage(id).querySelectorAll("image")].at(-1)!;
  const corner = [Number(tile.getAttribute("x")), Number(tile.getAttribute("y"))] as const;
  const [sx, sy] = at(scene);
  return [sx + k * (card[0] + picture[0] + corner[0] + x), sy + k * (card[1] + picture[1] + corner[1] + y)];
}

describe("selecting", () => {
  it("a stage tells the kernel, opens the inspector and sharpens the picture", async () => {
    click(shown.stage("enc1"));
    expect(written("selected")).toEqual(["enc1"]);
    expect(shown.one<HTMLElement>(".nf-inspector").hidden).toBe(false);
    await settle();
    await settle();
    expect(shown.stage("enc1").querySelectorAll("image[data-exact]").length).toBeGreaterThan(1);
    expect(shown.stage("mid").querySelector("[data-exact]")).toBeNull();
  });

  it("an edge selects it", () => {
    click(shown.edge("enc1", "dec1"));
    expect(written("selected")).toEqual(["enc1->dec1"]);
    expect(shown.edge("enc1", "dec1").classList.contains("nf-selected")).toBe(true);
  });

  it("by the kernel opens the inspector in every view", () => {
    const other = shown.another();
    kernel.put("selected", "dec1");
    for (const view of [shown, other]) {
      expect(view.one<HTMLElement>(".nf-inspector").hidden).toBe(false);
      expect(view.stage("dec1").classList.contains("nf-selected")).toBe(true);
    }
    other.close();
  });

  it("ends with Escape", () => {
    click(shown.stage("enc1"));
    press(shown.stage("enc1"), "Escape");
    expect(kernel.get("selected")).toBe("");
    expect(shown.one<HTMLElement>(".nf-inspector").hidden).toBe(true);
  });

  it("leaves the keyboard where it was when the layout makes room for the inspector", () => {
    click(shown.stage("enc1"));
    expect(document.activeElement).toBe(shown.stage("enc1"));
    resize(559);
    expect(document.activeElement).toBe(shown.stage("enc1"));
  });

  it("does not follow a drag", () => {
    const canvas = shown.one(".nf-canvas");
    canvas.setPointerCapture = () => {};
    const card = shown.stage("enc1");
    const before = shown.one<SVGGElement>(".nf-scene").style.transform;
    point(card, "pointerdown", 10, 10, { buttons: 1 });
    point(card, "pointermove", 40, 10, { buttons: 1 });
    point(card, "pointerup", 40, 10);
    point(card, "click", 40, 10);
    expect(written("selected")).toEqual([]);
    expect(shown.one<SVGGElement>(".nf-scene").style.transform).not.toBe(before);
  });
});

describe("the keyboard", () => {
  const focused = (): string[] =>
    [...shown.host.querySelectorAll<SVGGElement>('.nf-stage[tabindex="0"]')].map((each) => each.dataset.stage!);

  it("finds one stage in the tab order and moves it along the main edges", () => {
    expect(focused()).toEqual(["input"]);
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight"]) press(shown.stage(focused()[0]!), key);
    expect(focused()).toEqual(["dec1"]);
    press(shown.stage("dec1"), "ArrowLeft");
    expect(focused()).toEqual(["mid"]);
    press(shown.stage("mid"), "End");
    expect(focused()).toEqual(["output"]);
  });

  it("selects with Enter and opens a stage with e", () => {
    press(shown.stage("input"), "ArrowRight");
    press(shown.stage("enc1"), "e");
    expect(written("expanded")).toEqual([["enc1"]]);
    press(shown.stage("enc1"), "Enter");
    expect(written("selected")).toEqual(["enc1"]);
  });

  it("zooms with + and −, and fits with 0", () => {
    const zoom = (): string => shown.host.querySelectorAll(".nf-value")[1]!.textContent!;
    const before = zoom();
    press(shown.stage("input"), "+");
    expect(Number.parseInt(zoom(), 10)).toBeGreaterThan(Number.parseInt(before, 10));
    press(shown.stage("input"), "-");
    press(shown.stage("input"), "-");
    expect(Number.parseInt(zoom(), 10)).toBeLessThan(Number.parseInt(before, 10));
    press(shown.stage("input"), "0");
    expect(zoom()).toBe(before);
  });

  it("keeps its single letters from the notebook, but not the notebook's own commands", () => {
    const heard: string[] = [];
    const listen = (event: KeyboardEvent): void => void heard.push(event.key);
    document.body.addEventListener("keydown", listen as EventListener);
    press(shown.stage("input"), "0");
    const save = { key: "s", ctrlKey: true, bubbles: true };
    shown.stage("input").dispatchEvent(new KeyboardEvent("keydown", save));
    document.body.removeEventListener("keydown", listen as EventListener);
    expect(heard).toEqual(["s"]);
  });
});

describe("the wheel", () => {
  const turn = (more: WheelEventInit = {}): boolean => {
    const event = new WheelEvent("wheel", { deltaY: -100, bubbles: true, cancelable: true });
    for (const [name, value] of Object.entries(more)) Object.defineProperty(event, name, { value });
    shown.one(".nf-canvas").dispatchEvent(event);
    return event.defaultPrevented;
  };

  it("scrolls the page until the reader has clicked in, and again after a click elsewhere", () => {
    expect(turn()).toBe(false);
    click(shown.one(".nf-canvas"));
    expect(turn()).toBe(true);
    point(document.body, "pointerdown");
    expect(turn()).toBe(false);
  });

  it("zooms at any time with Ctrl", () => {
    expect(turn({ ctrlKey: true })).toBe(true);
  });
});

describe("states", () => {
  it("waiting: a tile that does not come is said to be queued", async () => {
    vi.useFakeTimers();
    kernel.prompt = false;
    click(shown.stage("mid"));
    await vi.advanceTimersByTimeAsync(SLOW_AFTER_MS + 1);
    expect(shown.root.dataset.state).toBe("waiting");
    expect(shown.one(".nf-message").textContent).toMatch(/\d+ tiles are queued/);
    expect(shown.stage("mid").querySelector(".nf-late")).not.toBeNull();
    kernel.answer();
    await vi.advanceTimersByTimeAsync(1);
    expect(shown.stage("mid").querySelector(".nf-late")).toBeNull();
  });

  it("error: the message with Retry, which asks again and puts the error aside", async () => {
    kernel.prompt = false;
    click(shown.stage("mid"));
    await settle();
    kernel.put("status", status({ state: "error", error: { type: "OutOfMemoryError", message: "<b>2 GiB</b>" } }));
    expect(shown.root.dataset.state).toBe("error");
    expect(shown.one(".nf-message").textContent).toContain("OutOfMemoryError<b>2 GiB</b>");
    const before = written("wanted").length;
    [...shown.host.querySelectorAll("button")].find((button) => button.textContent === "Retry")!.click();
    expect(written("wanted")).toHaveLength(before + 1);
    expect(shown.root.dataset.state).not.toBe("error");
  });

  it("stale: the last good frame stays", () => {
    kernel.put("status", status({ state: "stale", error: { type: "ValueError", message: "bad frame" } }));
    expect(shown.root.dataset.state).toBe("stale");
    expect(shown.one(".nf-message").textContent).toContain("bad frame");
    expect(shown.stage("mid").querySelector("image")).not.toBeNull();
  });

  it("no kernel: what is there is shown, what needs the kernel is not offered", () => {
    shown.close();
    shown.end();
    kernel = new Kernel(GRAPH, values, {}, false);
    shown = open(kernel);
    expect(shown.root.dataset.state).toBe("no-kernel");
    const names = ["Open all stages one level", "Close all groups one level"];
    for (const name of names) {
      const button = shown.one<HTMLButtonElement>(`[aria-label="${name}"]`);
      expect([button.disabled, button.title]).toEqual([true, "Other depths need the kernel"]);
    }
    expect(shown.one(".nf-message").textContent).toContain("Run the code again");
  });

  it("no kernel: cards and groups neither open nor close, and say why", () => {
    const opened = ["block", "enc1"];
    kernel.put("graph", {
      ...GRAPH,
      stages: STAGES.map((each) => (each.id === "mid" ? { ...each, group: "block" } : each)),
      groups: [{ id: "block", label: "block", type_name: "Sequential", parent: "" }],
    });
    kernel.put("expanded", opened);
    const marks = (): Element[] => [...shown.host.querySelectorAll(".nf-expand, .nf-collapse")];
    expect(marks().map((mark) => mark.hasAttribute("aria-disabled"))).toEqual([false, false]);
    kernel.say("comm_live_update");
    expect(marks()).toHaveLength(2);
    for (const mark of marks()) {
      expect(mark.getAttribute("aria-disabled")).toBe("true");
      expect(mark.querySelector("title")!.textContent).toBe("Other depths need the kernel");
      mark.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      mark.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    }
    expect(written("expanded")).toEqual([]);
  });

  it("a page of our own says what is not in it", () => {
    shown.close();
    shown.end();
    kernel = new Kernel(GRAPH, values, {}, false);
    kernel.frames = [0];
    shown = open(kernel);
    expect(shown.one(".nf-message").textContent).toContain("not in this page");
  });

  it("a kernel that the host loses: the same, as soon as the host says so", () => {
    const deeper = shown.one<HTMLButtonElement>('[aria-label="Open all stages one level"]');
    expect(deeper.disabled).toBe(false);
    kernel.say("comm_live_update");
    expect(shown.root.dataset.state).toBe("no-kernel");
    expect(deeper.disabled).toBe(true);
  });

  it("a forward that raised is an error with its place and operands", () => {
    const failure = {
      type: "RuntimeError",
      message: "Sizes of tensors must match",
      op: "torch.cat",
      call: "",
      operands: [{ path: "", shape: [1, 2, 3], dtype: "float32" }],
      location: "line 3",
    };
    kernel.put("graph", { ...GRAPH, failure });
    expect(shown.root.dataset.state).toBe("error");
    expect(shown.one(".nf-toolbar").textContent).toContain("forward raised in torch.cat");
    expect(shown.one(".nf-message").textContent).toMatch(/must match.*torch\.cat was given 1×2×3.*line 3/s);
  });
});

describe("the toolbar", () => {
  it("opens and closes a level for all stages", () => {
    shown.one<HTMLButtonElement>('[aria-label="Open all stages one level"]').click();
    expect(written("expanded")).toEqual([["enc1"]]);
  });

  it("finds a stage and puts the keyboard on it", () => {
    shown.one<HTMLButtonElement>('[aria-label="Find a stage"]').click();
    const input = shown.one<HTMLInputElement>(".nf-find");
    input.value = "dec";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    press(input, "Enter");
    expect(shown.stage("dec1").getAttribute("tabindex")).toBe("0");
    expect(shown.one<HTMLElement>(".nf-popover").hidden).toBe(true);
  });

  it("lists the notes of the graph", () => {
    kernel.put("graph", { ...GRAPH, notes: [{ kind: "path", text: "unfused path", stage: "mid" }] });
    const button = [...shown.host.querySelectorAll("button")].find((each) => each.textContent === "1 note")!;
    button.click();
    const entry = [...shown.host.querySelectorAll<HTMLButtonElement>("button.nf-entry")].find((each) =>
      each.textContent!.includes("unfused path"),
    )!;
    entry.click();
    expect(shown.stage("mid").getAttribute("tabindex")).toBe("0");
  });
});

describe("the theme", () => {
  it("follows the host while shown, VS Code before Jupyter, and is forced by the option", async () => {
    expect(shown.root.dataset.theme).toBe("light");
    document.body.setAttribute("data-jp-theme-light", "false");
    await settle();
    expect(shown.root.dataset.theme).toBe("dark");
    document.body.classList.add("vscode-light");
    await settle();
    expect(shown.root.dataset.theme).toBe("light");
    kernel.put("options", { theme: "dark" });
    expect(shown.root.dataset.theme).toBe("dark");
    expect(shown.root.hasAttribute("data-hosted")).toBe(false);
    document.body.removeAttribute("data-jp-theme-light");
    document.body.classList.remove("vscode-light");
  });

  it("repaints the pictures", () => {
    const picture = (): string => shown.stage("mid").querySelector("image:last-child")!.getAttribute("href")!;
    const before = picture();
    kernel.put("options", { theme: "dark" });
    const tiles = [...shown.stage("mid").querySelectorAll(".nf-tile image:last-child")];
    expect(tiles.every((tile) => tile.getAttribute("href") !== before)).toBe(true);
  });
});

describe("the end", () => {
  it("of a view leaves the others alone; of the model, no listener at all", async () => {
    const other = shown.another();
    shown.close();
    expect(shown.host.childElementCount).toBe(0);
    kernel.put("selected", "mid");
    expect(other.stage("mid").classList.contains("nf-selected")).toBe(true);
    other.close();
    expect(observed.size).toBe(0);
    shown.end();
    expect(kernel.listening).toBe(0);
  });

  it("works with hosts that give no signal and call what is returned", async () => {
    const { default: createWidget } = await import("../../src/index");
    const quiet = new Kernel(GRAPH, values);
    const widget = createWidget();
    const el = document.createElement("div");
    const end = widget.initialize({ model: quiet });
    const close = widget.render({ model: quiet, el });
    expect(el.querySelector(".nf-widget")).not.toBeNull();
    close();
    end();
    expect(el.childElementCount).toBe(0);
    expect(quiet.listening).toBe(0);
  });
});
