/** The line below: what the pointer is on, in words; the kinds of edges and the colours. */
import { colourTable } from "../colour";
import { joined, percent, plural, precise, typeText } from "../format";
import type { EdgeKind, NoteInfo } from "../protocol";
import { type Probe, summariesOf, watch } from "../state";
import { goTo } from "./actions";
import { bitmapUrl } from "./canvas";
import { DECORATION, div, html, setChildren, span, svg, svgPath } from "./dom";
import { alarmText, shapeOf } from "./draw/card";
import { edgeText } from "./edges";
import { type Pane, stageLabel } from "./pane";
import { live } from "./parts";
import { type Entry, listPopover } from "./popover";
import { isSequence } from "./scale";

/** "enc1 · channel 21 · row 23 · column 46 = 21.7358"; "≈ " before a value that is read from a picture. */
export function probeText(probe: Probe, name: string): string {
  const { position, value, minus, note } = probe;
  const axes = position.length === 1 ? ["index"] : ["depth", "row", "column"].slice(-position.length);
  const place = position.map((at, i) => `${axes[i] ?? "axis"} ${at}`);
  const values = probe.channels ?? (value === null ? [] : [value]);
  const said = joined([name, probe.part.replace(/^ch /, "channel "), ...place, minus && "Δ"]);
  const equals = values.length ? ` = ${probe.exact ? "" : "≈ "}${values.map(precise).join(", ")}` : "";
  return said + equals + (minus ? minusText(minus) : "") + (note ? ` · ${note}` : "");
}

/** " to frame 1", or " (21.7358, in frame 1 20.1)". */
function minusText({ frame, values: [here, before] }: NonNullable<Probe["minus"]>): string {
  const there = `frame ${frame + 1}`;
  return before === undefined ? ` to ${there}` : ` (${precise(here!)}, in ${there} ${precise(before)})`;
}

function stageText(pane: Pane, id: string): string {
  const stage = pane.index().stages.get(id);
  if (!stage) return "";
  const shape = shapeOf(stage, summariesOf(pane.widget, id));
  return joined([stage.label, typeText(stage), shape, stage.leaves[0]?.dtype]);
}

/** The stage most worth a warning: NaN before dead channels before zeros. */
function warningText(pane: Pane): string {
  for (const stage of pane.index().stages.values()) {
    const summary = summariesOf(pane.widget, stage.id)[0];
    const alarm = alarmText(stage, summary);
    if (!alarm || !summary?.statistics) continue;
    const { nan, inf, zeros } = summary.statistics;
    if (nan + inf > 0) return `✕ ${nan + inf} values of ${stage.label} are not finite`;
    if (alarm.endsWith("0") && alarm.includes("%")) return `△ ${percent(zeros)} of ${stage.label} is exactly 0`;
    return `△ ${plural(summary.ranking?.dead ?? 0, "dead channel")} in ${stage.label}`;
  }
  return "";
}

function restText(pane: Pane): string {
  const { stages } = pane.index();
  if (!stages.size) return "";
  const hint = pane.view.engaged() ? "scroll zooms, Esc leaves" : "click, then scroll to zoom";
  return joined([plural(stages.size, "stage"), hint, warningText(pane)]);
}

function readoutText(pane: Pane): string {
  const [hover, probe] = [pane.view.hover(), pane.view.probe()];
  const edge = hover.kind === "edge" && pane.index().edges.get(hover.id);
  if (edge) return edgeText(edge, pane);
  if (probe) return probeText(probe, stageLabel(pane, probe.stage));
  return hover.kind === "stage" ? stageText(pane, hover.id) : restText(pane);
}

function kindKey(kind: EdgeKind | "inferred"): HTMLElement {
  const line = svgPath("edge-line", "M0 4h26");
  const attributes = {
    "data-kind": kind === "inferred" ? "main" : kind,
    "data-evidence": kind === "inferred" ? "inferred" : "traced",
  };
  const sample = svg("svg", { width: 26, height: 8 }, DECORATION, svg("g.edge-colours", attributes, line));
  return span("key", sample, kind);
}

/** The kinds of edges that are there, where there is more than the one. */
function kinds(pane: Pane, end: AbortSignal): HTMLElement {
  const element = span("keys");
  watch(end, () => {
    const edges = [...pane.index().edges.values()];
    const found: (EdgeKind | "inferred")[] = (["main", "skip", "merge"] as const).filter((kind) =>
      edges.some((edge) => edge.kind === kind),
    );
    if (edges.some((edge) => edge.evidence === "inferred")) found.push("inferred");
    setChildren(element, found.length > 1 ? found.map(kindKey) : []);
  });
  return element;
}

/** What stands at the ends of the legend, and what they mean. */
function scaleWords({ widget }: Pane): readonly [low: string, high: string, meaning: string] {
  const rule = widget.options().normalisation;
  if (typeof rule !== "string") return [precise(rule[0]), precise(rule[1]), "the given range"];
  if (rule === "channel") return ["−", "+ max", "the extremes of each picture"];
  if (isSequence(widget)) return ["−", "+ first", "the range of each stage in the first input shown"];
  return ["−", "+ p99", "the 99th percentile of each stage"];
}

function legend(pane: Pane, end: AbortSignal): HTMLElement {
  const [low, high] = [html("span"), html("span")];
  const bar = span("lut", { role: "img", label: "cool: negative, paper: zero, warm: positive" });
  const whole = span("legend", low, bar, high);
  watch(end, () => {
    const { rgba } = colourTable(pane.view.theme());
    const url = bitmapUrl({ width: rgba.length / 4, height: 1, rgba });
    bar.style.backgroundImage = `url("${url}")`;
    const [from, to, meaning] = scaleWords(pane);
    [low.textContent, high.textContent] = [from, to];
    const reference = pane.widget.reference();
    const shown = reference === null ? "" : `; shown are differences to frame ${reference + 1}`;
    whole.title = `Zero is the paper; colours end at ${meaning}${shown}`;
  });
  return whole;
}

/** "3 notes": what the reader should know about how the graph was found. */
function notes(pane: Pane, end: AbortSignal): HTMLElement {
  const found = (): readonly NoteInfo[] => pane.widget.graph()?.notes ?? [];
  const button = html(
    "button.button notes-button",
    live(() => plural(found().length, "note"), end),
  );
  const entries = (): Entry[] =>
    found().map(({ text, stage }) =>
      pane.index().stages.has(stage)
        ? { title: stageLabel(pane, stage), text, go: () => goTo(pane, stage) }
        : { title: stage, text },
    );
  const region = { role: "region", label: "Notes" };
  const anchor = listPopover(button, "popover popover-up", region, entries, end);
  watch(end, () => {
    anchor.hidden = !found().length;
  });
  return anchor;
}

export function createReadout(pane: Pane, end: AbortSignal): HTMLElement {
  const text = span("said");
  watch(end, () => {
    text.textContent = readoutText(pane);
    text.title = text.textContent;
  });
  const said = div("readout", { role: "status", "aria-live": "polite" }, text);
  return div("footer", said, notes(pane, end), kinds(pane, end), legend(pane, end));
}
