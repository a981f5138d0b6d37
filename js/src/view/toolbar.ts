/** The bar on top: what the model is, what is going on, and the controls of the picture. */
import { count, duration, typeText } from "../format";
import { depth, search } from "../graph";
import { type Condition, lacking, type ReadonlySignal, watch } from "../state";
import { changeDepth, fitAll, goTo, ZOOM_STEP, zoomBy } from "./actions";
import {
  DECORATION,
  div,
  html,
  icon,
  iconButton,
  iconOf,
  type IconName,
  setAttributes,
  setChildren,
  span,
  svg,
  turnOff,
} from "./dom";
import { on } from "./events";
import type { Pane } from "./pane";
import { live } from "./parts";
import { type Entry, listPopover } from "./popover";
import { save } from "./save";

export interface ToolbarSource {
  readonly pane: Pane;
  readonly condition: ReadonlySignal<Condition>;
  /** Fills the screen with the widget or gives it back; null where the host does not let it. */
  readonly fullScreen: (() => void) | null;
  readonly picture: SVGSVGElement;
}

/** What is going on, with a sign; or, without one, what is known. */
type Meta = readonly [text: string, sign?: IconName | "ring"];

/** "4.65 M parameters · 75 ms on cpu", or what is going on. */
function metaOf({ pane, condition }: ToolbarSource): Meta {
  const { graph, status, problem, kernel } = pane.widget;
  const { text, done, total, error } = status();
  const { model, failure } = graph() ?? {};
  const now = condition();
  switch (now) {
    case "busy":
      return [(text || "working") + (total > 0 ? ` ${done} of ${total}` : ""), "ring"];
    case "waiting":
      return [text || "kernel busy, waiting", "wait"];
    case "stale":
      return ["last good picture", "warn"];
    case "no-kernel":
      return [kernel ? "no answer from the kernel" : "saved picture · no kernel", "none"];
    case "error":
      if (problem()) return ["message not understood", "cross"];
      if (error || !failure) return ["one request failed", "cross"];
      return [`forward raised in ${failure.op || failure.call || "the model"}`, "cross"];
    case "idle": {
      if (!model) return [""];
      const time = model.forward_ms === null ? model.device : `${duration(model.forward_ms)} on ${model.device}`;
      return [`${count(model.parameters)} parameters · ${time}`];
    }
  }
}

const ring = (): SVGElement => iconOf(svg("circle.ring", { cx: 7.5, cy: 7.5, r: 5, pathLength: 100 }));

function state(source: ToolbarSource, end: AbortSignal): HTMLElement {
  const name = span("model");
  const meta = span("meta");
  watch(end, () => {
    name.textContent = source.pane.widget.graph()?.model.name ?? "";
    const [text, sign] = metaOf(source);
    setChildren(meta, [sign === "ring" ? ring() : sign && icon(sign), html("span", text)]);
    meta.classList.toggle("nf-pill", sign !== undefined);
    meta.title = text;
  });
  return div("state", span("dot", DECORATION), name, meta);
}

/** A value between − and +. */
function stepper(
  name: string,
  [less, more]: readonly [less: string, more: string],
  shown: () => string | number,
  press: (more: boolean) => void,
  end: AbortSignal,
  title?: HTMLElement,
): HTMLElement {
  return div(
    "stepper",
    { role: "group", label: name },
    title,
    iconButton("minus", less, () => press(false), end),
    html("output.value", live(shown, end)),
    iconButton("plus", more, () => press(true), end),
  );
}

function searchBox({ pane }: ToolbarSource, end: AbortSignal): HTMLElement {
  const button = iconButton("search", "Find a stage", () => {}, end);
  const input = html("input.find", {
    type: "search",
    placeholder: "name or type",
    label: "Name or type of a stage",
  });
  const entries = (): Entry[] => {
    const graph = pane.widget.graph.peek();
    const found = graph ? search(graph, input.value) : [];
    if (!found.length) return [{ title: "", text: "no stage of that name or type" }];
    return found.map((stage) => ({
      title: stage.label,
      text: typeText(stage),
      go: () => goTo(pane, stage.id),
    }));
  };
  const element = listPopover(button, "popover", {}, entries, end, input);
  const first = ({ key }: KeyboardEvent): void => {
    if (key === "Enter") element.querySelector<HTMLElement>("[data-entry]")?.click();
  };
  on(input, "keydown", first, end);
  return element;
}

/** "Save the picture" as SVG or PNG. */
function saveMenu({ pane, picture }: ToolbarSource, end: AbortSignal): HTMLElement {
  const button = iconButton("save", "Save the picture", () => {}, end);
  const entry = (format: "svg" | "png", text: string): Entry => {
    const title = format.toUpperCase();
    const failed = (error: unknown): void => {
      button.title = `The picture could not be saved as ${title}: ${error}`;
    };
    return { title, text, go: () => save(picture, pane.widget.graph.peek()?.model.name ?? "", format).catch(failed) };
  };
  const entries = [entry("svg", "lines and words stay sharp"), entry("png", "twice as fine as on screen")];
  return listPopover(button, "popover", {}, () => entries, end);
}

function progress({ pane, condition }: ToolbarSource, end: AbortSignal): HTMLElement {
  const bar = div("progress", { role: "progressbar", label: "capture" });
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
    "depth",
    ["Close all groups one level", "Open all stages one level"],
    () => depth(pane.index()),
    (more) => changeDepth(pane, more),
    end,
    span("title", "depth"),
  );
  const zoom = stepper(
    "zoom",
    ["Zoom out", "Zoom in"],
    () => `${Math.round(view.viewport().k * 100)} %`,
    (more) => zoomBy(pane, more ? ZOOM_STEP : 1 / ZOOM_STEP),
    end,
  );
  const inspector = iconButton("panel", "Inspector", () => view.inspector.set(!view.inspector.peek()), end);
  watch(end, () => setAttributes(inspector, { "aria-pressed": view.inspector() }));
  watch(end, () => {
    const why = lacking(widget, "Other depths");
    for (const button of deep.querySelectorAll("button")) turnOff(button, why);
  });
  const buttons = [
    iconButton("fit", "Fit (0 or double click)", () => fitAll(pane), end),
    fullScreen && iconButton("full", "Full screen", fullScreen, end),
    saveMenu(source, end),
    searchBox(source, end),
    inspector,
  ];
  const controls = div("controls", deep, zoom, div("buttons", ...buttons));
  const name = { role: "toolbar", label: "Picture of the network" };
  return div("toolbar", name, state(source, end), controls, progress(source, end));
}
