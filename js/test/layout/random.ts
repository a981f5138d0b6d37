/** Random stage graphs: a trunk with branches, skips and merges thrown in, groups over stretches of it. */

import fc from "fast-check";
import type { LayoutEdge, LayoutGraph, LayoutStage } from "../../src/layout/types";

interface Draw {
  readonly count: number;
  readonly parents: readonly number[];
  readonly extra: readonly (readonly [number, number])[];
  readonly stretches: readonly (readonly [number, number, boolean])[];
}

const draw: fc.Arbitrary<Draw> = fc.integer({ min: 1, max: 26 }).chain((count) =>
  fc.record({
    count: fc.constant(count),
    // How far back the main source lies: mostly one.
    parents: fc.array(
      fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, { weight: 2, arbitrary: fc.integer({ min: 0, max: 6 }) }),
      {
        minLength: count,
        maxLength: count,
      },
    ),
    extra: fc.array(fc.tuple(fc.nat({ max: count - 1 }), fc.nat({ max: count - 1 })), { maxLength: 14 }),
    stretches: fc.array(fc.tuple(fc.nat({ max: count - 1 }), fc.integer({ min: 1, max: 7 }), fc.boolean()), {
      maxLength: 3,
    }),
  }),
);

export const randomGraph: fc.Arbitrary<LayoutGraph> = draw.map(({ count, parents, extra, stretches }) => {
  const edges = new Map<string, LayoutEdge>();
  const add = (source: number, target: number, kind: LayoutEdge["kind"]): void => {
    const id = `s${source}->s${target}`;
    if (source < target && !edges.has(id))
      edges.set(id, { id, source: `s${source}`, target: `s${target}`, kind, evidence: "traced" });
  };
  parents.forEach((back, node) => {
    if (back > 0 && node - back >= 0) add(node - back, node, "main");
  });
  const ancestors = ancestorSets(count, [...edges.values()]);
  for (const [a, b] of extra) {
    const [source, target] = [Math.min(a, b), Math.max(a, b)];
    const main = [...edges.values()].find((edge) => edge.target === `s${target}` && edge.kind === "main");
    const kind = main && ancestors[Number(main.source.slice(1))]!.has(source) ? "skip" : main ? "merge" : "main";
    add(source, target, kind);
  }
  const group = new Array<string>(count).fill("");
  const groups = stretches.map(([start, length, nested], index) => {
    const parent = nested && index > 0 ? `g${index - 1}` : "";
    for (let node = start; node < Math.min(count, start + length); node++) {
      if (parent === "" ? group[node] === "" : group[node] === parent) group[node] = `g${index}`;
    }
    return { id: `g${index}`, parent };
  });
  const stages = group.map(
    (name, node): LayoutStage => ({
      id: `s${node}`,
      kind: "call",
      leaves: [{ shape: [1, 4, 8, 8] }],
      order: node,
      group: name,
    }),
  );
  return { stages, edges: [...edges.values()], groups };
});

function ancestorSets(count: number, edges: readonly LayoutEdge[]): Set<number>[] {
  const sets = Array.from({ length: count }, () => new Set<number>());
  for (let node = 0; node < count; node++) {
    for (const edge of edges) {
      if (edge.target !== `s${node}`) continue;
      const source = Number(edge.source.slice(1));
      sets[node]!.add(source);
      for (const earlier of sets[source]!) sets[node]!.add(earlier);
    }
  }
  return sets;
}

/** Random encoders and decoders: several stages per level, arcs inside a level, a hub, groups, stages on their own. */
export const randomU: fc.Arbitrary<LayoutGraph> = fc
  .record({
    counts: fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 }), fc.boolean()), {
      minLength: 2,
      maxLength: 5,
    }),
    bottom: fc.integer({ min: 1, max: 4 }),
    hub: fc.integer({ min: 0, max: 2 }),
    heads: fc.integer({ min: 0, max: 2 }),
    spare: fc.integer({ min: 0, max: 3 }),
    grouped: fc.constantFrom("none", "down", "both"),
  })
  .map(({ counts, bottom, hub, heads, spare, grouped }) => {
    const stages: LayoutStage[] = [];
    const edges: LayoutEdge[] = [];
    const arms = grouped === "none" ? [] : grouped === "down" ? ["down"] : ["down", "up"];
    const groups = arms.flatMap((arm) => [
      { id: arm, parent: "" },
      ...counts.map((_, level) => ({ id: `${arm}${level}`, parent: arm })),
    ]);
    const stage = (id: string, shape: readonly number[], group = ""): string => {
      const kind = id.startsWith("input") ? "input" : id.startsWith("output") ? "output" : "call";
      stages.push({ id, kind, leaves: [{ shape }], order: stages.length, group });
      return id;
    };
    const edge = (source: string, target: string, kind: LayoutEdge["kind"]): void => {
      edges.push({ id: `${source}->${target}`, source, target, kind, evidence: "traced" });
    };
    const size = (level: number): number[] => [1, 8, 512 >> level, 512 >> level];
    const left = counts.map(([count], level) => Array.from({ length: count }, (_, index) => `l${level}.${index}`));
    const right = counts.map(([, count], level) => Array.from({ length: count }, (_, index) => `r${level}.${index}`));
    const path = [stage("input", size(0))];
    left.forEach((ids, level) => {
      for (const id of ids) path.push(stage(id, size(level), `down${level}`));
    });
    for (let index = 0; index < bottom; index++) path.push(stage(`m${index}`, size(counts.length)));
    right
      .slice()
      .reverse()
      .forEach((ids, index) => {
        const level = counts.length - 1 - index;
        for (const id of ids) path.push(stage(id, size(level), `up${level}`));
      });
    for (let head = 0; head < heads; head++) path.push(stage(`head${head}`, size(0)));
    path.push(stage("output", size(0)));
    path.slice(1).forEach((id, index) => {
      edge(path[index]!, id, "main");
    });
    left.forEach((ids, level) => {
      edge(ids.at(-1)!, right[level]![0]!, "skip");
      if (counts[level]![2] && ids.length > 2) edge(ids[0]!, ids[2]!, "skip");
      if (counts[level]![2] && ids.length > 1 && right[level]!.length > 1) edge(ids[0]!, right[level]![1]!, "skip");
    });
    if (hub > 0) stage("t", [1, 64]);
    if (hub > 1) {
      stage("t_mlp", [1, 64]);
      edge("t", "t_mlp", "main");
    }
    if (hub > 0) for (const id of path.slice(1, -1)) edge(hub > 1 ? "t_mlp" : "t", id, "merge");
    for (let index = 0; index < spare; index++) stage(`spare${index}`, []);
    return { stages, edges, groups };
  });
