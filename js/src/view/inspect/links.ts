/** Buttons that lead along the graph: they select what they name. */
import { opText, viaText } from "../../format";
import type { EdgeInfo, StageInfo } from "../../protocol";
import type { ViewContext } from "../../state";
import { select } from "../actions";
import { DECORATION, div, figure, html, span, svg } from "../dom";
import { muted, textButton } from "../parts";
import type { StageSubject } from "./subject";

/** A piece of the edge as it is drawn in the graph: kind by colour and dash, guesses faint. */
export function edgeSample({ kind, evidence }: Pick<EdgeInfo, "kind" | "evidence">, width = 22): SVGSVGElement {
  const line = { "data-kind": kind, "data-evidence": evidence, d: `M0 4H${width}` };
  return figure("svg.i-sample", width, 8, DECORATION, svg("path", line));
}

export const labelOf = (stages: readonly StageInfo[], id: string): string =>
  stages.find((stage) => stage.id === id)?.label ?? id;

export function stageButton(context: ViewContext, id: string, label: string, end: AbortSignal): HTMLButtonElement {
  return textButton(`Select ${label}`, () => select(context, id), end, span("i-code", label));
}

/** "enc2 skip cat(dim=1)": the stage at the other end, the kind and how it joins. Selects the edge. */
function edgeButton(context: ViewContext, edge: EdgeInfo, far: string, end: AbortSignal): HTMLButtonElement {
  const via = viaText(edge);
  const inferred = edge.evidence === "inferred" ? ", inferred" : "";
  const label = `Select ${far} ${edge.kind}, the edge ${edge.source} to ${edge.target}${via ? `, ${via}` : ""}${inferred}`;
  const button = textButton(
    label,
    () => select(context, edge.id),
    end,
    span("i-code", far),
    " ",
    edgeSample(edge),
    span("i-kind", { "data-kind": edge.kind }, edge.kind),
  );
  button.dataset.edge = edge.id;
  if (via) button.title = edge.via.map(opText).join(", ");
  return button;
}

/** Edges in and out; a stage without any on a side says so. */
export function edgeLinks(
  context: ViewContext,
  { stage, incoming, outgoing }: StageSubject,
  stages: readonly StageInfo[],
  end: AbortSignal,
): HTMLElement {
  const side = (name: string, edges: readonly EdgeInfo[], far: "source" | "target", none: string): HTMLElement =>
    div(
      "i-side",
      muted(name),
      ...edges.map((edge) => edgeButton(context, edge, labelOf(stages, edge[far]), end)),
      edges.length ? null : span("i-none", none),
    );
  return html(
    "nav.i-edges",
    { label: "Edges" },
    stage.kind === "input" ? null : side("in", incoming, "source", "nothing"),
    stage.kind === "output" ? null : side("out", outgoing, "target", "feeds nothing"),
  );
}
