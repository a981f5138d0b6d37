/**
 * State, apart from the DOM. `WidgetState` mirrors the synced traits, one per model; `ViewState` is what one view alone
 * knows (zoom, hover, open panels), one per rendered view.
 */
import { atEnd } from "./ends";
import { type History, historyOf } from "./history";
import { computed, effect, type ReadonlySignal, type Signal, signal } from "./signals";
import type { Theme } from "./colour";
import type { Interest } from "./interest";
import type { Graph, Overview, Traits } from "./protocol";
import { IDENTITY, type Level, type Size, type Viewport } from "./viewport";
import {
  graphFromWire,
  optionsFromWire,
  overviewFromWire,
  statusFromWire,
  thumbnailsFromWire,
  tilesFromWire,
  WireError,
  wantedFromWire,
} from "./wire";

export { batch, computed, effect, signal, untracked } from "./signals";
export * from "./shown";
export type { ReadonlySignal, Signal };

/** What we need of the host's model. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
  /** False where the host knows that no kernel will answer (a saved page). */
  readonly kernel?: boolean;
  /** A page of our own holds the pictures of these frames, ascending. */
  readonly frames?: readonly number[];
}

/** Traits that the front end may write. */
export type Writable = "frame" | "reference" | "sample" | "selected" | "expanded" | "wanted" | "options";

type Signals = { readonly [K in Exclude<keyof Traits, "graph" | "overview" | "tiles">]: ReadonlySignal<Traits[K]> };

export interface WidgetState extends Signals {
  /** Null until the kernel has sent one. */
  readonly graph: ReadonlySignal<Graph | null>;
  /** What is shown; its `frame` and `sample` lag behind the traits while the kernel works. */
  readonly overview: ReadonlySignal<Overview | null>;
  readonly tiles: ReadonlySignal<Traits["tiles"] | null>;
  readonly history: ReadonlySignal<History>;
  /** A message that could not be read, in words; "" when all could. */
  readonly problem: ReadonlySignal<string>;
  /** False where the host knows that no kernel will answer; read in an effect, it is followed. */
  readonly kernel: boolean;
  /** The frames that a page of our own holds; undefined elsewhere. */
  readonly frames: readonly number[] | undefined;
  /** The host has lost the widget's kernel. */
  disconnect(): void;
  /** `status.beat` of the last error that the reader has put aside. */
  readonly dismissed: Signal<number>;
  /** Writes a trait; the signal follows through the model's change event. */
  write<K extends Writable>(name: K, value: Traits[K]): void;
}

const numberOf = (raw: unknown, otherwise: number): number => (typeof raw === "number" ? raw : otherwise);
const strings = (raw: unknown): readonly string[] =>
  Array.isArray(raw) ? raw.filter((each) => typeof each === "string") : [];

const READERS: { readonly [K in keyof Traits]: (raw: unknown) => Traits[K] | null } = {
  graph: graphFromWire,
  overview: overviewFromWire,
  tiles: tilesFromWire,
  wanted: wantedFromWire,
  options: optionsFromWire,
  status: statusFromWire,
  frame: (raw) => numberOf(raw, 0),
  // Pictures of the frames are looked for one by one.
  frame_count: (raw) => Math.min(numberOf(raw, 1), 1e6),
  frame_labels: strings,
  reference: (raw) => (typeof raw === "number" ? raw : null),
  thumbnails: thumbnailsFromWire,
  sample: (raw) => numberOf(raw, 0),
  sample_count: (raw) => numberOf(raw, 1),
  selected: (raw) => (typeof raw === "string" ? raw : ""),
  expanded: strings,
};

export function onModel(model: Model, event: string, heard: () => void, end: AbortSignal): void {
  model.on(event, heard);
  atEnd(end, () => model.off(event, heard));
}

export function createWidgetState(model: Model, end: AbortSignal): WidgetState {
  const problems = signal<Readonly<Record<string, string>>>({});
  const read = (name: keyof Traits): unknown => {
    const { [name]: _, ...others } = problems.peek();
    try {
      const value = READERS[name](model.get(name));
      if (name in problems.peek()) problems.set(others);
      return value;
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      problems.set({ ...others, [name]: error.message });
      return undefined;
    }
  };
  const live = signal(model.kernel !== false);
  const signals: Record<string, Signal<unknown>> = {};
  const follow = (name: keyof Traits): void => {
    const held = signal<unknown>(read(name) ?? null);
    signals[name] = held;
    const changed = (): void => {
      const value = read(name);
      // An unreadable message leaves the last good value on screen.
      if (value !== undefined) held.set(value);
    };
    onModel(model, `change:${name}`, changed, end);
  };
  for (const name of Object.keys(READERS)) follow(name as keyof Traits);
  return {
    ...(signals as unknown as Omit<
      WidgetState,
      "history" | "problem" | "kernel" | "frames" | "disconnect" | "dismissed" | "write"
    >),
    history: historyOf(signals.overview as Signal<Overview | null>, end),
    problem: computed(() => Object.values(problems())[0] ?? ""),
    get kernel() {
      return live();
    },
    frames: model.frames,
    disconnect: () => live.set(false),
    dismissed: signal(Number.NaN),
    write(name, value) {
      if (end.aborted) return;
      model.set(name, value);
      model.save_changes();
    },
  };
}

export type Hover =
  | { readonly kind: "nothing" }
  | { readonly kind: "stage"; readonly id: string }
  | { readonly kind: "edge"; readonly id: string };

export const NO_HOVER: Hover = { kind: "nothing" };

/** The element under the pointer. `value` is null where there is none (yet). */
export interface Probe {
  readonly stage: string;
  readonly leaf: string;
  /** "channel 21", "head 3", "feature 7", or "" for a slice without siblings. */
  readonly part: string;
  /** Indices into the full-size slice, outermost first: (row, column), or one index of a vector. */
  readonly position: readonly number[];
  readonly value: number | null;
  /** False: read from a pooled or quantised picture, so "≈". */
  readonly exact: boolean;
  /** Values of all channels at this place, where the picture shows several at once (a photo). */
  readonly channels?: readonly number[];
  /** The value is a difference to this frame; `values` here and there, empty while they are not known. */
  readonly minus?: { readonly frame: number; readonly values: readonly number[] } | undefined;
  /** What else is known: "RGB 182 140 90". */
  readonly note?: string;
}

/** Several parts say what the reader points at, and each takes back only what it has said. */
export function probing({ probe }: ViewState, end: AbortSignal): (next: Probe | null) => void {
  let said = false;
  const say = (next: Probe | null): void => {
    if (next || said) probe.set(next);
    said = next !== null;
  };
  atEnd(end, () => say(null));
  return say;
}

export interface PickedChannel {
  readonly stage: string;
  readonly item: number;
}

export interface ViewState {
  readonly viewport: Signal<Viewport>;
  /** The viewport follows the layout; false once the reader has zoomed or moved. */
  readonly fitted: Signal<boolean>;
  readonly level: Signal<Level>;
  /** Of the canvas, CSS px. */
  readonly size: Signal<Size>;
  readonly hover: Signal<Hover>;
  readonly probe: Signal<Probe | null>;
  /** The stage that Tab reaches. */
  readonly focus: Signal<string>;
  /** Whether the inspector is open. */
  readonly inspector: Signal<boolean>;
  /** Channel (head, feature) of a stage to look at, where the reader has picked one. */
  readonly channel: Signal<PickedChannel | null>;
  /** Clicked into: the wheel zooms. */
  readonly engaged: Signal<boolean>;
  readonly theme: Signal<Theme>;
  /** Device pixels per CSS px. */
  readonly ratio: Signal<number>;
}

export function createViewState(): ViewState {
  return {
    viewport: signal(IDENTITY),
    fitted: signal(true),
    level: signal<Level>("middle"),
    size: signal<Size>({ width: 0, height: 0 }),
    hover: signal<Hover>(NO_HOVER),
    probe: signal<Probe | null>(null),
    focus: signal(""),
    inspector: signal(false),
    channel: signal<PickedChannel | null>(null),
    engaged: signal(false),
    theme: signal<Theme>("light"),
    ratio: signal(1),
  };
}

/** What every part of a view is given. */
export interface ViewContext {
  readonly widget: WidgetState;
  readonly interest: Interest;
  readonly view: ViewState;
}

/** Runs `run` now and whenever a signal that it read changes, until `end`. `run` may return its clean-up. */
export function watch(end: AbortSignal, run: Parameters<typeof effect>[0]): void {
  if (end.aborted) return;
  atEnd(end, effect(run));
}
