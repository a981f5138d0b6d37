/** Pure queries of a stage graph. Order is always that of the graph, so that ties fall by index. */
import type { EdgeInfo, Graph, GroupInfo, StageInfo } from "./protocol";

export interface GraphIndex {
  readonly stages: ReadonlyMap<string, StageInfo>;
  readonly edges: ReadonlyMap<string, EdgeInfo>;
  readonly groups: ReadonlyMap<string, GroupInfo>;
  /** Stage id -> its edges, the main one first. */
  readonly incoming: ReadonlyMap<string, readonly EdgeInfo[]>;
  readonly outgoing: ReadonlyMap<string, readonly EdgeInfo[]>;
}

/** Which kind comes first where edges are alike otherwise. */
export const KIND_RANK = { main: 0, merge: 1, skip: 2 } as const;

type Parts = Pick<Graph, "stages" | "edges" | "groups">;

function byEnd(graph: Parts, end: "source" | "target"): Map<string, EdgeInfo[]> {
  const lists = new Map<string, EdgeInfo[]>(graph.stages.map((stage) => [stage.id, []]));
  for (const edge of graph.edges) lists.get(edge[end])?.push(edge);
  for (const list of lists.values()) list.sort((a, b) => KIND_RANK[a.kind] - KIND_RANK[b.kind]);
  return lists;
}

export function indexGraph(graph: Parts): GraphIndex {
  return {
    stages: new Map(graph.stages.map((stage) => [stage.id, stage])),
    edges: new Map(graph.edges.map((edge) => [edge.id, edge])),
    groups: new Map(graph.groups.map((group) => [group.id, group])),
    incoming: byEnd(graph, "target"),
    outgoing: byEnd(graph, "source"),
  };
}

function reach(from: string, edges: GraphIndex["incoming"], end: "source" | "target"): Set<string> {
  const seen = new Set<string>();
  const open = [from];
  for (let id = open.pop(); id !== undefined; id = open.pop())
    for (const edge of edges.get(id) ?? []) {
      const next = edge[end];
      if (seen.has(next) || next === from) continue;
      seen.add(next);
      open.push(next);
    }
  return seen;
}

/** Stages whose values reach this one, without itself. */
export const ancestors = (index: GraphIndex, id: string): Set<string> => reach(id, index.incoming, "source");
/** Stages that this one's values reach, without itself. */
export const descendants = (index: GraphIndex, id: string): Set<string> => reach(id, index.outgoing, "target");

export interface Lit {
  readonly stages: ReadonlySet<string>;
  readonly edges: ReadonlySet<string>;
}

/** What stays lit around a stage: its ancestors and descendants, and the edges on paths through it. */
export function litByStage(index: GraphIndex, id: string): Lit {
  const [before, after] = [ancestors(index, id).add(id), descendants(index, id).add(id)];
  const edges = new Set<string>();
  for (const edge of index.edges.values())
    for (const side of [before, after]) if (side.has(edge.source) && side.has(edge.target)) edges.add(edge.id);
  return { stages: new Set([...before, ...after]), edges };
}

export function litByEdge(index: GraphIndex, id: string): Lit {
  const edge = index.edges.get(id);
  return edge
    ? { stages: new Set([edge.source, edge.target]), edges: new Set([id]) }
    : { stages: new Set(), edges: new Set() };
}

/** Ids of the groups around a stage or group, innermost first. */
export function enclosing(index: GraphIndex, group: string): string[] {
  const chain: string[] = [];
  for (let id = group; id && !chain.includes(id); id = index.groups.get(id)?.parent ?? "") chain.push(id);
  return chain;
}

/** Levels shown: 1 without groups. */
export function depth(index: GraphIndex): number {
  let deepest = 0;
  for (const stage of index.stages.values()) deepest = Math.max(deepest, enclosing(index, stage.group).length);
  return deepest + 1;
}

/** `expanded` after every expandable stage has been opened. */
export function expandAll(graph: Graph, expanded: readonly string[]): readonly string[] {
  const more = graph.stages.filter((stage) => stage.expandable && !expanded.includes(stage.id));
  return [...expanded, ...more.map((stage) => stage.id)];
}

/** `expanded` after every group without a group inside has been closed. */
export function collapseAll(graph: Graph, expanded: readonly string[]): readonly string[] {
  const parents = new Set(graph.groups.map((group) => group.parent));
  const leaves = new Set(graph.groups.filter((group) => !parents.has(group.id)).map((group) => group.id));
  return expanded.filter((id) => !leaves.has(id));
}

/** `expanded` after one group, and all inside it, has been closed. */
export function collapse(index: GraphIndex, expanded: readonly string[], group: string): readonly string[] {
  return expanded.filter((id) => id !== group && !enclosing(index, index.groups.get(id)?.parent ?? "").includes(group));
}

/** Stages whose name, path or type holds the words of `query`, in order of execution; all for no words. */
export function search(graph: Graph, query: string): readonly StageInfo[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return graph.stages.filter((stage) => {
    const text = `${stage.label} ${stage.path} ${stage.type_name} ${stage.detail}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
