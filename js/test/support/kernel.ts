/** A kernel in the page: traits with change events, and exact answers to `wanted` from whole activations. */
import { createInterest } from "../../src/interest";
import type {
  EdgeInfo,
  Graph,
  NoteInfo,
  Overview,
  StageInfo,
  Summary,
  TileInfo,
  TileRequest,
  Traits,
  Wanted,
} from "../../src/protocol";
import { createViewState, createWidgetState, type Model, untracked, type ViewContext, watch } from "../../src/state";
import { type Activation, pooled } from "./activations";

export interface Shown {
  readonly activation: Activation;
  readonly summary: Summary;
}

/** Stage id -> its leaves, for a frame. */
export type Values = (frame: number) => Readonly<Record<string, readonly Shown[]>>;

export function stageInfo(id: string, more: Partial<StageInfo> = {}): StageInfo {
  return {
    id,
    kind: "call",
    path: id,
    label: id,
    type_name: "Sequential",
    detail: "",
    leaves: [],
    parameters: 0,
    order: 0,
    group: "",
    expandable: false,
    status: "ok",
    ...more,
  };
}

export function edgeInfo(source: string, target: string, more: Partial<EdgeInfo> = {}): EdgeInfo {
  const id = `${source}->${target}`;
  return { id, source, target, kind: "main", via: [], shape: null, dtype: "float32", evidence: "traced", ...more };
}

export function graphOf(
  stages: readonly StageInfo[],
  edges: readonly EdgeInfo[],
  more: Partial<Graph> = {},
  notes: readonly NoteInfo[] = [],
): Graph {
  return {
    version: 1,
    trace: "t",
    model: { name: "Net", parameters: 301_000, device: "cpu", forward_ms: 12 },
    topology: "runtime",
    stages,
    groups: [],
    edges,
    notes,
    failure: null,
    ...more,
  };
}

/** Rows and columns that a request cuts out of an activation, before region and size. */
function plane({ kind, shape, values }: Activation, { channel, slice }: TileRequest) {
  const [rows, columns] = shape.slice(-2) as [number, number];
  if (kind === "vector") return { values, rows: 1, columns: values.length };
  if (kind === "tokens") return { values, rows, columns };
  if (kind !== "volume")
    return {
      values: values.subarray((channel ?? 0) * rows * columns, ((channel ?? 0) + 1) * rows * columns),
      rows,
      columns,
    };
  const size = shape.slice(-3) as [number, number, number];
  const [axis, index] = slice ?? [0, 0];
  const kept = [0, 1, 2].filter((other) => other !== axis) as [number, number];
  const out = new Float32Array(size[kept[0]]! * size[kept[1]]!);
  const start = (channel ?? 0) * size[0] * size[1] * size[2];
  for (let r = 0; r < size[kept[0]]!; r++)
    for (let c = 0; c < size[kept[1]]!; c++) {
      const at = [0, 0, 0];
      at[axis] = index;
      at[kept[0]] = r;
      at[kept[1]] = c;
      out[r * size[kept[1]]! + c] = values[start + (at[0]! * size[1] + at[1]!) * size[2] + at[2]!]!;
    }
  return { values: out, rows: size[kept[0]]!, columns: size[kept[1]]! };
}

function tileFor(request: TileRequest, activation: Activation | undefined): TileInfo {
  const empty = { low: null, high: null, mean: null, dtype: "float32" as const };
  const none = {
    key: request.key,
    rows: 0,
    columns: 0,
    exact: false,
    data: new DataView(new ArrayBuffer(0)),
    ...empty,
  };
  if (activation === undefined) return { ...none, error: "There is no such stage." };
  const whole = plane(activation, request);
  const [top, left, bottom, right] = request.region ?? [0, 0, whole.rows, whole.columns];
  const [rows, columns] = [bottom - top, right - left];
  const cut = Float32Array.from(
    { length: rows * columns },
    (_, i) => whole.values[(top + Math.floor(i / columns)) * whole.columns + left + (i % columns)]!,
  );
  const fits = request.size === null || (rows <= request.size[0] && columns <= request.size[1]);
  const out = fits ? { values: cut, rows, columns } : pooled(cut, rows, columns, request.size!);
  const data = new DataView(Float32Array.from(out.values).buffer);
  return { ...none, rows: out.rows, columns: out.columns, exact: fits, error: "", data };
}

export class Kernel implements Model {
  readonly kernel: boolean;
  /** As a page of our own tells which ones it holds. */
  frames?: readonly number[];
  /** Every value that the front end wrote, in order. */
  readonly written: (readonly [name: string, value: unknown])[] = [];
  /** Answers a `wanted` at once; else only when `answer` is called. */
  prompt = true;
  readonly #traits = new Map<string, unknown>();
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #values: Values;

  constructor(graph: Graph, values: Values, traits: Partial<Traits> = {}, kernel = true) {
    this.kernel = kernel;
    this.#values = values;
    const given = { graph, frame: 0, frame_count: 1, sample: 0, sample_count: 1, selected: "", ...traits };
    for (const [name, value] of Object.entries(given)) this.#traits.set(name, value);
    this.#traits.set("overview", this.overviewOf(given.frame));
  }

  overviewOf(frame: number): Overview {
    const stages = Object.entries(this.#values(frame)).map(([id, leaves]) => [
      id,
      leaves.map(({ summary }) => summary),
    ]);
    return { version: 1, frame, sample: 0, reference: null, stages: Object.fromEntries(stages) };
  }

  get(name: string): unknown {
    return this.#traits.get(name);
  }

  /** As the front end writes. */
  set(name: string, value: unknown): void {
    this.written.push([name, value]);
    this.put(name, value);
    if (name === "wanted" && this.prompt) queueMicrotask(() => this.answer());
    if (name === "frame" && this.prompt) queueMicrotask(() => this.put("overview", this.overviewOf(value as number)));
  }

  save_changes(): void {}

  /** As the kernel writes. */
  put(name: string, value: unknown): void {
    this.#traits.set(name, value);
    this.say(`change:${name}`);
  }

  /** As the host tells. */
  say(event: string): void {
    for (const listener of this.#listeners.get(event) ?? []) listener();
  }

  answer(): void {
    const wanted = this.#traits.get("wanted") as Wanted;
    const tiles = wanted.tiles.map((request) => {
      const leaf = this.#values(request.frame)[request.stage]?.find(({ summary }) => summary.leaf === request.leaf);
      return tileFor(request, leaf?.activation);
    });
    this.put("tiles", { seq: wanted.seq, tiles });
  }

  on(event: string, callback: () => void): void {
    const all = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, all.add(callback));
  }

  off(event: string, callback: () => void): void {
    this.#listeners.get(event)?.delete(callback);
  }

  /** Listeners that have not been taken off. */
  get listening(): number {
    return [...this.#listeners.values()].reduce((sum, all) => sum + all.size, 0);
  }
}

/** The state of a widget and a view over this kernel, wired as `initialize` and `render` do it. */
export function contextOf(kernel: Kernel, end: AbortSignal): ViewContext {
  const widget = createWidgetState(kernel, end);
  const interest = createInterest({ send: (wanted) => widget.write("wanted", wanted), seq: 0 }, end);
  watch(end, () => {
    const tiles = widget.tiles();
    if (tiles !== null) untracked(() => interest.accept(tiles));
  });
  const view = createViewState();
  view.inspector.set(true);
  return { widget, interest, view };
}
