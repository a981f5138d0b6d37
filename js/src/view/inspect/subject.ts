/** What `selected` stands for in a graph. */
import { indexGraph } from "../../graph";
import type { EdgeInfo, Graph, GroupInfo, NoteInfo, StageInfo } from "../../protocol";

export interface StageSubject {
  readonly kind: "stage";
  readonly stage: StageInfo;
  /** Main edges first. */
  readonly incoming: readonly EdgeInfo[];
  readonly outgoing: readonly EdgeInfo[];
  readonly notes: readonly NoteInfo[];
}
export interface EdgeSubject {
  readonly kind: "edge";
  readonly edge: EdgeInfo;
  readonly source: StageInfo;
  readonly target: StageInfo;
}
export interface GroupSubject {
  readonly kind: "group";
  readonly group: GroupInfo;
  /** Stages drawn in it or in a group inside it, in the order of the graph. */
  readonly members: readonly StageInfo[];
  readonly notes: readonly NoteInfo[];
}
export type Subject = { readonly kind: "nothing" } | StageSubject | EdgeSubject | GroupSubject;

/** An id that the graph does not hold (a stage of another cut) is "nothing". */
export function subjectOf(graph: Graph | null, selected: string): Subject {
  if (!graph || !selected) return { kind: "nothing" };
  const { stages, edges, groups, incoming, outgoing } = indexGraph(graph);
  const notes = graph.notes.filter((note) => note.stage === selected);
  const stage = stages.get(selected);
  if (stage) {
    const [into, from] = [incoming.get(selected) ?? [], outgoing.get(selected) ?? []];
    return { kind: "stage", stage, incoming: into, outgoing: from, notes };
  }
  const edge = edges.get(selected);
  const [source, target] = [stages.get(edge?.source ?? ""), stages.get(edge?.target ?? "")];
  if (edge && source && target) return { kind: "edge", edge, source, target };
  const group = groups.get(selected);
  return group ? { kind: "group", group, members: membersOf(graph, group.id), notes } : { kind: "nothing" };
}

function membersOf(graph: Graph, id: string): readonly StageInfo[] {
  const inside = new Set([id]);
  // A child group may come before its parent, so the set grows until it holds every nested group.
  for (let before = 0; before !== inside.size; ) {
    before = inside.size;
    for (const group of graph.groups) if (inside.has(group.parent)) inside.add(group.id);
  }
  return graph.stages.filter((stage) => inside.has(stage.group));
}
