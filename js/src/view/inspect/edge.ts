/** An edge under inspection: where it leads, how it was found, the ops along it and what crosses. */
import { opText, sampleShape, shapeText } from "../../format";
import type { EdgeInfo, Graph, Summary } from "../../protocol";
import { computed, signal, summariesOf, untracked, type ViewContext } from "../../state";
import { select } from "../actions";
import { type Child, div, html, span } from "../dom";
import { head, heading, remade, terms } from "../parts";
import type { Leaf } from "./detail";
import { lensOf } from "./lens";
import { edgeSample, stageButton } from "./links";
import { itemsGrid } from "./maps";
import { noteList } from "./notes";
import type { EdgeSubject } from "./subject";

const KINDS: Readonly<Record<EdgeInfo["kind"], string>> = {
  main: "from the deepest source: the trunk",
  skip: "jumps over stages that the main edge goes through",
  merge: "joins another path to the main one",
};

const EVIDENCE: Readonly<Record<EdgeInfo["evidence"], string>> = {
  traced: "every step from source to target was seen",
  inferred: "a step could not be seen and was assumed, so this edge may not be there",
};

/** The ops in the order in which they ran; a bare connection says so. */
function opList({ via }: EdgeInfo): HTMLElement {
  if (!via.length) return html("p.i-muted", "no op between them: the target takes what the source gives");
  const items = via.map((op) => html("li", html("code", opText(op))));
  return html("ol.i-ops", { label: "Ops along the edge" }, ...items);
}

/** The source's leaf that crosses: the one of the edge's shape, where that is told, else the first. */
export function crossing(edge: EdgeInfo, summaries: readonly Summary[]): Summary | null {
  const same = summaries.find(({ shape }) => edge.shape !== null && shape.join() === edge.shape.join());
  return same ?? summaries[0] ?? null;
}

/** The source's channels, ranked. Choosing one opens the source there. */
function channels(context: ViewContext, { edge, source }: EdgeSubject, end: AbortSignal): HTMLElement {
  const { options } = context.widget;
  const summary = computed(() => crossing(edge, summariesOf(context.widget, source.id)));
  const rule = computed(() => options().channel_order);
  const key = computed(() => {
    const { leaf, shape, axes } = summary() ?? {};
    return JSON.stringify([leaf, shape, axes, rule()]);
  });
  const make = (scope: AbortSignal): Child[] => {
    key();
    return untracked(() => {
      const first = summary();
      const lens = first && lensOf(first, rule());
      if (lens?.form !== "maps" || lens.count < 2) return [];
      const leaf: Leaf = {
        context,
        stage: source,
        name: first!.leaf,
        lens,
        summary: computed(() => summary() ?? first!),
      };
      const pick = (item: number): void => select(context, source.id, item);
      return [
        heading("What crosses", `${lens.count} ${lens.item}s of ${source.label}`),
        itemsGrid({ leaf, lens, picked: signal(null), pick }, lens.size, scope),
      ];
    });
  };
  return remade(html("section.i-section i-items"), make, end);
}

export function edgeView(context: ViewContext, graph: Graph, subject: EdgeSubject, end: AbortSignal): Child[] {
  const { edge, source, target } = subject;
  const notes = graph.notes.filter((note) => note.stage === edge.id);
  return [
    head(
      `${source.label} → ${target.label}`,
      null,
      span("i-kind", { "data-kind": edge.kind }, edge.kind),
      span("i-space"),
      html("code.i-shape", edge.shape && sampleShape(edge.shape)),
    ),
    div(
      "i-route",
      stageButton(context, source.id, source.label, end),
      edgeSample(edge, 96),
      stageButton(context, target.id, target.label, end),
    ),
    terms("i-terms", [
      ["kind", `${edge.kind}: ${KINDS[edge.kind]}`],
      ["evidence", `${edge.evidence}: ${EVIDENCE[edge.evidence]}`],
      ["ops", opList(edge)],
      ["shape", edge.shape ? html("code", shapeText(edge.shape)) : "unknown"],
      ["dtype", html("code", edge.dtype || "unknown")],
    ]),
    noteList(notes),
    channels(context, subject, end),
  ];
}
