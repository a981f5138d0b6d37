/** The side panel: the selected stage, edge or group in full. */
import { count, plural } from "../format";
import type { Graph } from "../protocol";
import { computed, untracked, type ViewContext, watch } from "../state";
import { type Child, div, html, span } from "./dom";
import { on } from "./events";
import { edgeView } from "./inspect/edge";
import { labelOf, stageButton } from "./inspect/links";
import { failureBox, noteList } from "./inspect/notes";
import { stageView } from "./inspect/stage";
import { type GroupSubject, subjectOf } from "./inspect/subject";
import { head, remade, terms } from "./parts";

const TOPOLOGY: Readonly<Record<Graph["topology"], string>> = {
  runtime: "edges traced at run time",
  fx: "edges found by torch.fx",
  sequential: "edges by order of execution",
};

/** Nothing is selected: what to do, and what is known of the model as a whole. */
function hint(graph: Graph | null): Child[] {
  const words = html("p.i-hint", "Select a stage or an edge to see inside.");
  if (!graph) return [words];
  const { model, topology, stages, edges, notes, failure } = graph;
  return [
    head(model.name, null, span("i-type", `${count(model.parameters)} parameters`)),
    words,
    terms("i-terms", [
      ["shown", `${plural(stages.length, "stage")}, ${plural(edges.length, "edge")}`],
      ["topology", TOPOLOGY[topology]],
      ["device", model.device],
    ]),
    failure && failureBox(failure),
    noteList(notes, (stage) => labelOf(stages, stage)),
  ];
}

function groupView(context: ViewContext, subject: GroupSubject, end: AbortSignal): Child[] {
  const { group, members, notes } = subject;
  const buttons = members.map((stage) => stageButton(context, stage.id, stage.label, end));
  return [
    head(group.label, null, span("i-type", `${group.type_name} · ${plural(members.length, "stage")}`)),
    html("p.i-hint", "A group has no picture of its own: select a stage in it, or close the group."),
    html("nav.i-edges", { label: "Stages of the group" }, div("i-side", ...buttons)),
    noteList(notes),
  ];
}

/** Empty, and asking for nothing, while the view's inspector is closed. */
export function createInspector(context: ViewContext, end: AbortSignal): HTMLElement {
  const { widget, view } = context;
  const panel = html("section.inspector", { role: "region", label: "Inspector", tabindex: -1 });
  const body = div("i-body");
  panel.append(body);
  watch(end, () => {
    const selected = widget.selected();
    // The reader's own choice comes with its stage; one made elsewhere brings no channel.
    if (view.channel.peek()?.stage !== selected) view.channel.set(null);
  });
  const subject = computed(() => subjectOf(widget.graph(), widget.selected()));
  remade(
    body,
    (scope) => {
      const [open, shown, graph] = [view.inspector(), subject(), widget.graph()];
      panel.scrollTop = 0;
      if (!open) return [];
      return untracked(() => {
        body.dataset.subject = shown.kind;
        switch (shown.kind) {
          case "nothing":
            return hint(graph);
          case "group":
            return groupView(context, shown, scope);
          case "edge":
            return edgeView(context, graph!, shown, scope);
          case "stage":
            return stageView(context, graph!, shown, scope);
        }
      });
    },
    end,
  );
  // The wheel scrolls the panel; under the graph's own handler it would zoom.
  on(panel, "wheel", (event) => event.stopPropagation(), end);
  return panel;
}
