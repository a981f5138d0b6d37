import { describe, expect, it } from "vitest";
import * as graphs from "../src/graph";
import type { EdgeKind, Graph } from "../src/protocol";

type Link = readonly [source: string, target: string, kind?: EdgeKind];

function graph(
  links: readonly Link[],
  more: { groups?: Record<string, string>; inside?: Record<string, string> } = {},
): Graph {
  const ids = [...new Set(links.flatMap((link) => link.slice(0, 2) as string[]))];
  const stages = ids.map((id, order) => ({
    id,
    kind: "call" as const,
    path: `model.${id}`,
    label: id,
    type_name: id.startsWith("c") ? "Conv2d" : "ReLU",
    detail: "",
    leaves: [],
    parameters: 0,
    order,
    group: more.inside?.[id] ?? "",
    expandable: id.startsWith("c"),
    status: "ok" as const,
  }));
  const edges = links.map(([source, target, kind = "main"]) => {
    const rest = { kind, via: [], shape: null, dtype: "", evidence: "traced" as const };
    return { id: `${source}->${target}`, source, target, ...rest };
  });
  const groups = Object.entries(more.groups ?? {}).map(([id, parent]) => ({ id, label: id, type_name: "", parent }));
  const model = { name: "", parameters: 0, device: "cpu", forward_ms: null };
  return { version: 1, trace: "", model, topology: "runtime", stages, edges, groups, notes: [], failure: null };
}

const diamond = graph([
  ["in", "c1"],
  ["c1", "left"],
  ["c1", "right"],
  ["left", "join", "skip"],
  ["right", "join"],
  ["join", "out"],
]);
const index = graphs.indexGraph(diamond);
const sorted = (set: ReadonlySet<string>): string[] => [...set].sort();

describe("ancestry", () => {
  it("is what reaches a stage and what it reaches", () => {
    expect(sorted(graphs.ancestors(index, "join"))).toEqual(["c1", "in", "left", "right"]);
    expect(sorted(graphs.descendants(index, "left"))).toEqual(["join", "out"]);
  });

  it("ends on a cycle", () => {
    const loop = graphs.indexGraph(
      graph([
        ["a", "b"],
        ["b", "c"],
        ["c", "a"],
      ]),
    );
    expect(sorted(graphs.ancestors(loop, "a"))).toEqual(["b", "c"]);
  });

  it("lights the stages and edges on paths through a stage, not its siblings", () => {
    const lit = graphs.litByStage(index, "left");
    expect(sorted(lit.stages)).toEqual(["c1", "in", "join", "left", "out"]);
    expect(sorted(lit.edges)).toEqual(["c1->left", "in->c1", "join->out", "left->join"]);
  });

  it("lights an edge and its two ends", () => {
    expect(sorted(graphs.litByEdge(index, "right->join").stages)).toEqual(["join", "right"]);
    expect(graphs.litByEdge(index, "gone").stages.size).toBe(0);
  });

  it("lists a stage's edges with the main one first", () => {
    expect(index.incoming.get("join")!.map(({ source }) => source)).toEqual(["right", "left"]);
  });
});

describe("expanding", () => {
  const links: Link[] = [
    ["c1", "x"],
    ["x", "c2"],
    ["c2", "y"],
  ];
  const nested = graph(links, { groups: { g: "", h: "g", k: "" }, inside: { x: "h", y: "g", c1: "k" } });

  it("opens every stage that can be opened, once", () => {
    expect(graphs.expandAll(nested, ["c1"])).toEqual(["c1", "c2"]);
  });

  it("closes the innermost groups first", () => {
    expect(graphs.collapseAll(nested, ["g", "h", "k"])).toEqual(["g"]);
    expect(graphs.depth(graphs.indexGraph(nested))).toBe(3);
  });

  it("closes a group with everything inside it", () => {
    expect(graphs.collapse(graphs.indexGraph(nested), ["g", "h", "k"], "g")).toEqual(["k"]);
  });
});

it("finds stages by all words of name, path or type", () => {
  expect(graphs.search(diamond, "conv C1").map(({ id }) => id)).toEqual(["c1"]);
  expect(graphs.search(diamond, "model.l").map(({ id }) => id)).toEqual(["left"]);
  expect(graphs.search(diamond, " ")).toHaveLength(6);
  expect(graphs.search(diamond, "nothing")).toHaveLength(0);
});
