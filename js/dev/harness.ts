/**
 * One widget on a page with a made-up kernel: ?scene=classifier&theme=dark&state=busy&delay=60&frames=8.
 * `window.nf` gives the model to whoever drives the page.
 */
import widget from "../src/index";
import type { Status, Wanted } from "../src/protocol";
import type { Model } from "../src/state";
import { answer } from "./kernel";
import { SCENES, type Scene } from "./scenes";

const query = new URLSearchParams(location.search);
const given = (name: string, otherwise: string): string => query.get(name) ?? otherwise;

class FakeModel implements Model {
  readonly kernel: boolean;
  readonly #traits: Record<string, unknown>;
  readonly #listeners = new Map<string, Set<() => void>>();

  constructor(traits: Record<string, unknown>, kernel: boolean) {
    this.#traits = traits;
    this.kernel = kernel;
  }
  get(name: string): unknown {
    return this.#traits[name];
  }
  set(name: string, value: unknown): void {
    this.#traits[name] = value;
    for (const listener of [...(this.#listeners.get(`change:${name}`) ?? [])]) listener();
  }
  save_changes(): void {}
  on(event: string, callback: () => void): void {
    this.#listeners.set(event, (this.#listeners.get(event) ?? new Set()).add(callback));
  }
  off(event: string, callback: () => void): void {
    this.#listeners.get(event)?.delete(callback);
  }
  get listeners(): number {
    return [...this.#listeners.values()].reduce((sum, set) => sum + set.size, 0);
  }
}

const idle: Status = { state: "idle", text: "", done: 0, total: 0, error: null, beat: 1 };
const STATES: Readonly<Record<string, Status>> = {
  idle,
  busy: { ...idle, state: "busy", text: "capturing", done: 4, total: 12 },
  waiting: { ...idle, state: "waiting", text: "waiting for the running cell" },
  error: { ...idle, state: "error", error: { type: "OutOfMemoryError", message: "Tried to allocate 2.10 GiB" } },
  stale: {
    ...idle,
    state: "stale",
    error: { type: "RuntimeError", message: "mat1 and mat2 shapes cannot be multiplied" },
  },
};

function traitsOf({ graph, made }: Scene): Record<string, unknown> {
  const known = given("state", "idle") === "busy" ? made.slice(0, 4) : made;
  const reference = given("reference", "") === "" ? null : Number(given("reference", ""));
  const stages = Object.fromEntries(known.map(({ stage, summary }) => [stage.id, [summary]]));
  return {
    graph,
    overview: { version: 1, frame: 0, sample: 0, reference, stages },
    frame: 0,
    frame_count: Number(given("frames", "1")),
    frame_labels: Array.from({ length: Number(given("frames", "1")) }, (_, i) => `σ = 0.${i}0`),
    reference,
    sample: 0,
    sample_count: 1,
    selected: given("selected", ""),
    expanded: graph.groups.map((group) => group.id),
    wanted: { seq: 0, tiles: [] },
    tiles: { seq: 0, tiles: [] },
    options: {
      theme: given("theme", "auto"),
      normalisation: "stage",
      channel_order: "structure",
      height: Number(given("height", "0")),
    },
    status: STATES[given("state", "idle")] ?? idle,
  };
}

/** Answers `wanted` after a while; never while the made-up kernel waits. */
function serve(model: FakeModel, { made }: Scene): void {
  model.on("change:wanted", () => {
    if (["waiting", "no-kernel"].includes(given("state", "idle"))) return;
    const { seq } = model.get("wanted") as Wanted;
    setTimeout(
      () => {
        const now = model.get("wanted") as Wanted;
        if (now.seq !== seq) return;
        const tiles = now.tiles.flatMap((request) => {
          const found = made.find(({ stage }) => stage.id === request.stage);
          return found === undefined ? [] : [answer(found, request)];
        });
        model.set("tiles", { seq, tiles });
      },
      Number(given("delay", "60")),
    );
  });
}

const scene = SCENES[given("scene", "classifier")]!();
const model = new FakeModel(traitsOf(scene), given("state", "idle") !== "no-kernel");
serve(model, scene);
document.documentElement.style.colorScheme = given("theme", "light");
const { initialize, render } = widget();
const life = new AbortController();
initialize({ model, signal: life.signal });
render({ model, el: document.getElementById("cell")!, signal: life.signal });
Object.assign(window, { nf: { model, life } });
