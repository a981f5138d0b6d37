/** One view of a widget: toolbar, graph, inspector, slider, message and readout put together. */
import { atEnd } from "../ends";
import { indexGraph } from "../graph";
import { type Layout, layout as layOut } from "../layout";
import type { Graph } from "../protocol";
import {
  computed,
  conditionOf,
  createViewState,
  type ReadonlySignal,
  type Signal,
  signal,
  type ViewContext,
  watch,
} from "../state";
import { div } from "./dom";
import { createMeasure } from "./draw/text";
import { type FullScreen, fontEpoch, fullScreen, holdSingleKeys, observeSizes, type Sizes } from "./frame";
import { createInspector } from "./inspector";
import { followEscape } from "./keys";
import { createMessage } from "./message";
import { createReadout } from "./readout";
import { createSlider } from "./slider";
import { createGraphPane } from "./svg";
import { followTheme } from "./theme";
import { createToolbar } from "./toolbar";

/** A cell grows to this height, then the picture pans. */
const HEIGHT_MAX = 640;
const HEIGHT_MIN = 120;
/** From this width on the inspector stands beside the graph; it needs this much height there. */
const SIDE_FROM = 1000;
const SIDE_HEIGHT = 760;
const NARROW_BELOW = 660;

const NO_GRAPH: Pick<Graph, "stages" | "edges" | "groups"> = { stages: [], edges: [], groups: [] };

/** The room that the layout has: fixed by the screen or an option, else as high as it needs up to a limit. */
interface Room {
  readonly width: number;
  /** 0 where the layout decides. */
  readonly height: number;
}

function layoutOf(graph: ReadonlySignal<typeof NO_GRAPH>, room: ReadonlySignal<Room>): ReadonlySignal<Layout | null> {
  return computed(() => {
    const { width, height } = room();
    if (width <= 0 || !graph().stages.length) return null;
    return layOut(graph(), { width, maxHeight: height > 0 ? height : HEIGHT_MAX, card: "auto" });
  });
}

/** Height of the canvas where no screen fixes it. */
function heightFor(layout: Layout | null, room: Room, least: number): number {
  if (room.height > 0) return room.height;
  const fits = layout ? Math.ceil(layout.height * layout.scale) : 0;
  return Math.max(least, Math.min(HEIGHT_MAX, fits));
}

function followSizes(context: ViewContext, sizes: Sizes, full: FullScreen, room: Signal<Room>, end: AbortSignal): void {
  watch(end, () => {
    const width = sizes.canvasWidth();
    const height = full.on() ? sizes.canvasHeight() : context.widget.options().height;
    const before = room.peek();
    if (before.width !== width || before.height !== height) room.set({ width, height });
  });
}

/** Builds the view inside `el`; everything it holds is let go when `end` aborts. */
export function createApp(shared: Pick<ViewContext, "widget" | "interest">, el: HTMLElement, end: AbortSignal): void {
  const context: ViewContext = { ...shared, view: createViewState() };
  const { widget, view } = context;
  const root = div("widget", { "data-state": "idle" });
  followTheme(context, root, end);
  holdSingleKeys(root, end);
  const full = fullScreen(root, end);
  const room = signal<Room>({ width: 0, height: 0 });
  const graph = computed(() => widget.graph() ?? NO_GRAPH);
  const layout = layoutOf(graph, room);
  const measure = createMeasure(root, fontEpoch(root, view.theme, end));
  const source = { index: computed(() => indexGraph(graph())), layout, measure };
  const { element: canvas, picture, pane } = createGraphPane(context, source, end);
  const condition = computed(() => conditionOf(context));
  const inspector = createInspector(context, end);
  root.append(
    createToolbar({ pane, picture, condition, fullScreen: full.toggle }, end),
    div("body", canvas, inspector),
    createSlider(context, end),
    createMessage(pane, condition, end),
    createReadout(pane, end),
  );
  followEscape(pane, root, end);
  watch(end, () => root.setAttribute("data-state", condition()));
  let selected = "";
  watch(end, () => {
    // A selection that is made or given up anywhere opens or closes the panel in every view.
    const now = widget.selected();
    if (now !== selected) view.inspector.set(now !== "");
    selected = now;
  });
  el.append(root);
  atEnd(end, () => root.remove());
  const sizes = observeSizes(root, canvas, end);
  followSizes(context, sizes, full, room, end);
  watch(end, () => {
    const open = view.inspector();
    const side = sizes.width() >= SIDE_FROM;
    inspector.hidden = !open;
    root.classList.toggle("nf-side", side);
    root.classList.toggle("nf-narrow", sizes.width() < NARROW_BELOW);
    const height = heightFor(layout(), room(), open && side ? SIDE_HEIGHT : HEIGHT_MIN);
    canvas.style.height = full.on() ? "" : `${height}px`;
    view.size.set({ width: room().width, height });
  });
}
