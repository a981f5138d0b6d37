/** The graph as arrays of indices: acyclic, ranked by longest path, with its trunk. */

import { times } from "../lists";
import { KIND_RANK } from "../graph";
import type { EdgeKind } from "../protocol";
import type { LayoutGraph, LayoutStage } from "./types";

export interface Link {
  readonly id: string;
  readonly source: number;
  readonly target: number;
  readonly kind: EdgeKind;
}

export interface Net {
  /** In order of execution; every other array is indexed alike. */
  readonly stages: readonly LayoutStage[];
  readonly links: readonly Link[];
  /** Links that leave and that enter a stage, without those that close a cycle. */
  readonly out: readonly (readonly Link[])[];
  readonly into: readonly (readonly Link[])[];
  /** Number of links on the longest path that ends here. */
  readonly rank: readonly number[];
  /** The deepest path, from its first stage to its last. */
  readonly trunk: readonly number[];
}

/** Links that name a missing stage, or one stage twice, are left out: there is nothing to draw. */
export function net(graph: LayoutGraph): Net {
  const stages = graph.stages
    .map((stage, index) => ({ stage, index }))
    .sort((a, b) => a.stage.order - b.stage.order || a.index - b.index)
    .map(({ stage }) => stage);
  const place = new Map(stages.map((stage, index) => [stage.id, index]));
  const links: Link[] = [];
  for (const edge of graph.edges) {
    const source = place.get(edge.source);
    const target = place.get(edge.target);
    if (source === undefined || target === undefined || source === target) continue;
    links.push({ id: edge.id, source, target, kind: edge.kind });
  }
  const { out, into, sequence } = acyclic(stages.length, links);
  const rank = times(stages.length, () => 0);
  for (const node of sequence) {
    for (const link of into[node]!) rank[node] = Math.max(rank[node]!, rank[link.source]! + 1);
  }
  return { stages, links, out, into, rank, trunk: deepestPath(rank, into) };
}

/** Takes stages as their sources are done; where a cycle blocks, the earliest waiting stage goes first. */
function acyclic(count: number, links: readonly Link[]): { out: Link[][]; into: Link[][]; sequence: number[] } {
  const leaving: Link[][] = times(count, () => []);
  const missing = times(count, () => 0);
  for (const link of links) {
    leaving[link.source]!.push(link);
    missing[link.target]!++;
  }
  const out: Link[][] = times(count, () => []);
  const into: Link[][] = times(count, () => []);
  const done = times(count, () => false);
  const sequence: number[] = [];
  const ready: number[] = [];
  const take = (node: number): void => {
    done[node] = true;
    sequence.push(node);
    for (const link of leaving[node]!) {
      if (done[link.target]) continue;
      out[node]!.push(link);
      into[link.target]!.push(link);
      if (--missing[link.target]! === 0) ready.push(link.target);
    }
  };
  let waiting = 0;
  for (let node = 0; node < count; node++) if (missing[node] === 0) ready.push(node);
  while (sequence.length < count) {
    const next = ready.shift();
    if (next !== undefined) {
      if (!done[next]) take(next);
      continue;
    }
    while (done[waiting]) waiting++;
    take(waiting);
  }
  return { out, into, sequence };
}

function deepestPath(rank: readonly number[], into: readonly (readonly Link[])[]): number[] {
  if (!rank.length) return [];
  let node = 0;
  for (let other = 1; other < rank.length; other++) if (rank[other]! > rank[node]!) node = other;
  const path = [node];
  while (rank[node]! > 0) {
    const steps = into[node]!.filter((link) => rank[link.source] === rank[node]! - 1);
    steps.sort((a, b) => KIND_RANK[a.kind] - KIND_RANK[b.kind] || a.source - b.source);
    node = steps[0]!.source;
    path.push(node);
  }
  return path.reverse();
}
