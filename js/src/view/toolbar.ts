/** The bar on top: what the model is, what is going on, and the controls of the picture. */
import { successive } from "../ends";
import { count, duration, needKernel } from "../format";
import { depth, search } from "../graph";
import { type Condition, computed, type ReadonlySignal, watch } from "../state";
import { changeDepth, fitAll, goTo, ZOOM_STEP, zoomBy } from "./actions";
import { html, type IconName, icon, iconButton, setAttributes, svg, turnOff } from "./dom";
import { on } from "./events";
import type { Pane } from "./pane";
import { fillList, popover } from "./popover";
import { save } from "./save";

export interface ToolbarSource {
  readonly pane: Pane;
  readonly condition: ReadonlySignal<Condition>;
  /** Fills the screen with the widget or gives it back; null where the host does not let it. */
  readonly fullScreen: (() => void) | null;
  focusStage(id: string): void;
  readonly picture: SVGSVGElement;
}

type Meta = { readonly text: string; readonly pill: boolean; readonly icon: IconName | "ring" | null };

const plain = (text: string): Meta => ({ text, pill: false, icon: null });
const pill = (text: string, icon: Meta["icon"]): Meta => ({ text, pill: true, icon });

/** "4.65 M parameters · 75 ms on cpu", or what is going on. */
function metaOf({ pane, condition }: ToolbarSource): Meta {
  const { graph, status, problem, kernel } = pane.widget;
  const { text, done, total, error } = status();
  const now = condition();
  switch (now) {
    case "busy": {
      const progress = total > 0 ? ` ${done} of ${total}` : "";
      return pill((text || "working") + progress, "ring");
    }
    case "waiting":
      return pill(text || "kernel busy, waiting", "wait");
    case "stale":
      return pill("last good picture", "warn");
    case "no-kernel":
      return pill(kernel ? "no answer from the kernel" : "saved picture · no kernel", "none");
    case "error": {
      const failure = graph()?.failure;
      if (problem()) return pill("message not understood", "cross");
      if (error || !failure) return pill("one request failed", "cross");
      return pill(`forward raised in ${failure.op || failure.call || "the model"}`, "cross");
    }
    case "idle": {
      const model = graph()?.model;
      if (!model) return plain("");
      const time = model.forward_ms === null ? model.device : `${duration(model.forward_ms)} on ${model.device}`;
      return plain(`${count(model.parameters)} parameters · ${time}`);
    }
    default:
      return now satisfies never;
  }
}

const ring = (): SVGElement =>
  svg(
    "svg.icon",
    { viewBox: "0 0 15 15", "aria-hidden": "true" },
    svg("circle.ring", { cx: 7.5, cy: 7.5, r: 5, pathLength: 100 }),
  );

function state(source: ToolbarSource, end: AbortSignal): HTMLElement {
  const name = html("span.model");
  const meta = html("span.meta");
  watch(end, () => {
    name.textContent = source.pane.widget.graph()?.model.name ?? "";
    const { text, pill, icon: sign } = metaOf(source);
    const picture = sign === null ? null : sign === "ring" ? ring() : icon(sign);
    meta.replaceChildren(...(picture ? [picture] : []), html("span", text));
    meta.classList.toggle("nf-pill", pill);
    meta.title = text;
  });
  return html("div.state", html("span.dot", { "aria-hidden": "true" }), name, meta);
}

/** A value between − and +. */
function stepper(
  parts: {
    readonly name: string;
    readonly less: string;
    readonly more: string;
    readonly shown: ReadonlySignal<string>;
  },
  press: (more: boolean) => void,
  end: AbortSignal,
): HTMLElement {
  const value = html("output.value");
  watch(end, () => {
    value.textContent = parts.shown();
  });
  const less = iconButton("minus", parts.less, () => press(false), end);
  const more = iconButton("plus", parts.more, () => press(true), end);
  const title = parts.name && html("span.title", parts.name);
  return html("div.stepper", { role: "group", "aria-label": parts.name || "zoom" }, title, less, value, more);
}

function searchBox({ pane, focusStage }: ToolbarSource, end: AbortSignal): HTMLElement {
  const button = html("button.button", { "aria-label": "Find a stage", title: "Find a stage" }, icon("search"));
  const input = html("input.find", {
    type: "search",
    placeholder: "name or type",
    "aria-label": "Name or type of a stage",
  });
  const list = html("ul.list");
  const panel = html("div.popover", input, list);
  const next = successive(end);
  const fill = (): void => {
    const graph = pane.widget.graph.peek();
    const found = graph ? search(graph, input.value) : [];
    const entries = found.map((stage) => ({
      title: stage.label,
      text: [stage.type_name, stage.detail].filter(Boolean).join(" "),
      go: () => {
        goTo(pane, stage.id);
        focusStage(stage.id);
      },
    }));
    fillList(list, entries.length ? entries : [{ title: "", text: "no stage of that name or type" }], close, next());
  };
  const { close } = popover(
    button,
    panel,
    () => {
      input.value = "";
      fill();
      input.focus();
    },
    end,
  );
  on(input, "input", fill, end);
  on<KeyboardEvent>(
    input,
    "keydown",
    (event) => {
      if (event.key === "Enter") list.querySelector("button")?.click();
    },
    end,
  );
  return html("div.anchor", button, panel);
}

/** "Save the picture" as SVG or PNG. */
function saveMenu({ pane, picture }: ToolbarSource, end: AbortSignal): HTMLElement {
  const button = iconButton("save", "Save the picture", () => {}, end);
  const list = html("ul.list");
  const panel = html("div.popover", list);
  const entry = (format: "svg" | "png", text: string) => ({
    title: format.toUpperCase(),
    text,
    go: () => {
      const name = pane.widget.graph.peek()?.model.name ?? "";
      save(picture, name, format).catch((error: unknown) => {
        button.title = `The picture could not be saved as ${format.toUpperCase()}: ${String(error)}`;
      });
    },
  });
  const entries = [entry("svg", "lines and words stay sharp"), entry("png", "twice as fine as on screen")];
  const { close } = popover(button, panel, () => list.querySelector("button")?.focus(), end);
  fillList(list, entries, close, end);
  return html("div.anchor", button, panel);
}

function progress({ pane, condition }: ToolbarSource, end: AbortSignal): HTMLElement {
  const bar = html("div.progress", { role: "progressbar", "aria-label": "capture" });
  watch(end, () => {
    const { done, total } = pane.widget.status();
    bar.hidden = condition() !== "busy" || total === 0;
    setAttributes(bar, { "aria-valuemax": total, "aria-valuenow": done });
    bar.style.setProperty("--nf-done", total > 0 ? String(done / total) : "0");
  });
  return bar;
}

export function createToolbar(source: ToolbarSource, end: AbortSignal): HTMLElement {
  const { pane, fullScreen } = source;
  const { view, widget } = pane;
  const deep = stepper(
    {
      name: "depth",
      less: "Close all groups one level",
      more: "Open all stages one level",
      shown: computed(() => String(depth(pane.index()))),
    },
    (more) => changeDepth(pane, more),
    end,
  );
  const zoom = stepper(
    {
      name: "",
      less: "Zoom out",
      more: "Zoom in",
      shown: computed(() => `${Math.round(view.viewport().k * 100)} %`),
    },
    (more) => zoomBy(pane, more ? ZOOM_STEP : 1 / ZOOM_STEP),
    end,
  );
  const inspector = iconButton("panel", "Inspector", () => view.inspector.set(!view.inspector.peek()), end);
  watch(end, () => setAttributes(inspector, { "aria-pressed": String(view.inspector()) }));
  watch(end, () => {
    const why = widget.kernel ? "" : needKernel("Other depths");
    for (const button of deep.querySelectorAll("button")) turnOff(button, why);
  });
  const buttons = [
    iconButton("fit", "Fit (0 or double click)", () => fitAll(pane), end),
    ...(fullScreen ? [iconButton("full", "Full screen", fullScreen, end)] : []),
    saveMenu(source, end),
    searchBox(source, end),
    inspector,
  ];
  const controls = html("div.controls", deep, zoom, html("div.buttons", ...buttons));
  const name = { role: "toolbar", "aria-label": "Picture of the network" };
  return html("div.toolbar", name, state(source, end), controls, progress(source, end));
}
