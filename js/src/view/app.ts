/** One view of a widget: toolbar, graph, inspector, slider, message and readout put together. */
import { indexGraph } from "../graph";
import { layout as layOut } from "../layout";
import type { Graph } from "../protocol";
import { computed, conditionOf, createViewState, type ReadonlySignal, signal, type ViewContext, watch } from "../state";
import { html, on } from "./dom";
import { createMeasure } from "./draw/text";
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
const NARROW_BELOW = 660;
const SIDE_HEIGHT = 560;

const NO_GRAPH: Graph = {
  version: 1,
  trace: "",
  model: { name: "", parameters: 0, device: "", forward_ms: null },
  topology: "runtime",
  stages: [],
  groups: [],
  edges: [],
  notes: [],
  failure: null,
};

/** Sizes that the browser gives: of the widget, and of the canvas inside it. */
function observeSizes(root: HTMLElement, canvas: HTMLElement, end: AbortSignal) {
  const sizes = { root: signal(0), canvas: signal({ width: 0, height: 0 }) };
  const observer = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const { width, height } = contentRect;
      if (target === root) sizes.root.value = width;
      else if (width !== sizes.canvas.peek().width || height !== sizes.canvas.peek().height)
        sizes.canvas.value = { width, height };
    }
  });
  observer.observe(root);
  observer.observe(canvas);
  end.addEventListener("abort", () => observer.disconnect(), { once: true });
  return sizes;
}

function fullScreen(root: HTMLElement, end: AbortSignal): { on: ReadonlySignal<boolean>; toggle: (() => void) | null } {
  const page = root.ownerDocument;
  const full = signal(false);
  on(
    root,
    "fullscreenchange",
    () => {
      full.value = root.matches(":fullscreen");
    },
    end,
  );
  const toggle = (): void => {
    // A host that forbids it after all leaves everything as it is.
    const asked = full.peek() ? page.exitFullscreen() : root.requestFullscreen();
    asked.catch(() => {
      full.value = root.matches(":fullscreen");
    });
  };
  return { on: full, toggle: page.fullscreenEnabled ? toggle : null };
}

/** Grows when fonts have been loaded, so that text is measured anew. */
function fontLoads(root: HTMLElement, end: AbortSignal): ReadonlySignal<number> {
  const loads = signal(0);
  const fonts = root.ownerDocument.fonts as FontFaceSet | undefined;
  if (fonts !== undefined)
    on(
      fonts,
      "loadingdone",
      () => {
        loads.value++;
      },
      end,
    );
  return loads;
}

/** Builds the view inside `el`; everything it holds is let go when `end` aborts. */
export function createApp(shared: Pick<ViewContext, "widget" | "interest">, el: HTMLElement, end: AbortSignal): void {
  const context: ViewContext = { ...shared, view: createViewState() };
  const { widget, view } = context;
  const root = html("div", { class: "nf-widget", "data-state": "idle", "data-lm-suppress-shortcuts": "true" });
  const body = html("div", { class: "nf-body" });
  const full = fullScreen(root, end);
  const room = signal({ width: 0, height: 0 });
  const graph = computed(() => widget.graph.value ?? NO_GRAPH);
  const layout = computed(() => {
    const { width, height } = room.value;
    if (width <= 0 || graph.value.stages.length === 0) return null;
    const fixed = full.on.value ? height : widget.options.value.height;
    const maxHeight = fixed > 0 ? fixed : Math.max(HEIGHT_MAX, side.value && view.inspector.value ? SIDE_HEIGHT : 0);
    return layOut(graph.value, { width, maxHeight, card: "auto" });
  });
  const width = signal(0);
  const side = computed(() => width.value >= SIDE_FROM);
  const measure = createMeasure(root, fontLoads(root, end));
  const source = { index: computed(() => indexGraph(graph.value)), layout, measure };
  followTheme(context, root, end);
  const { element: canvas, pane, focusStage } = createGraphPane(context, source, end);
  const condition = computed(() => conditionOf(context));
  const inspector = createInspector(context, end);
  body.append(canvas, inspector);
  const toolbar = createToolbar({ pane, condition, fullScreen: full.toggle, focusStage }, end);
  root.append(toolbar, body, createSlider(context, end), createMessage(pane, condition, end));
  root.append(createReadout(pane, focusStage, end));
  followEscape(pane, root, () => focusStage(view.focus.peek()), end);
  watch(end, () => {
    root.dataset["state"] = condition.value;
  });
  watch(end, () => {
    if (widget.selected.value !== "") view.inspector.value = true;
  });
  watch(end, () => {
    inspector.hidden = !view.inspector.value;
    root.classList.toggle("nf-side", side.value);
    root.classList.toggle("nf-narrow", width.value < NARROW_BELOW);
  });
  el.append(root);
  end.addEventListener("abort", () => root.remove(), { once: true });
  const sizes = observeSizes(root, canvas, end);
  watch(end, () => {
    width.value = sizes.root.value;
    room.value = sizes.canvas.value;
  });
  watch(end, () => {
    const fits = layout.value === null ? HEIGHT_MIN : Math.ceil(layout.value.height * layout.value.scale);
    const least = side.value && view.inspector.value ? SIDE_HEIGHT : HEIGHT_MIN;
    const fixed = widget.options.value.height;
    const height = fixed > 0 ? fixed : Math.max(least, Math.min(HEIGHT_MAX, fits));
    canvas.style.height = full.on.value ? "" : `${height}px`;
    view.size.value = full.on.value ? room.value : { width: room.value.width, height };
  });
}
