/** A few lines per graph. */

import type { LayoutEdge, LayoutGraph, LayoutGroup, LayoutStage } from "../../src/layout/types";

export type Kind = LayoutEdge["kind"];
export type Size = readonly number[];

/** Collects stages in order of execution, and edges by name. */
export class Build {
  private readonly stages: LayoutStage[] = [];
  private readonly edges: LayoutEdge[] = [];
  private readonly groups: LayoutGroup[] = [];

  stage(id: string, shape: Size = [1, 8, 8, 8], group = ""): this {
    const kind = id.startsWith("input") ? "input" : id.startsWith("output") ? "output" : "call";
    this.stages.push({ id, kind, leaves: [{ shape }], order: this.stages.length, group });
    return this;
  }

  edge(source: string, target: string, kind: Kind = "main"): this {
    this.edges.push({ id: `${source}->${target}`, source, target, kind, evidence: "traced" });
    return this;
  }

  group(id: string, parent = ""): this {
    this.groups.push({ id, parent });
    return this;
  }

  chain(...ids: readonly string[]): this {
    for (let index = 1; index < ids.length; index++) this.edge(ids[index - 1]!, ids[index]!);
    return this;
  }

  done(): LayoutGraph {
    return { stages: this.stages, edges: this.edges, groups: this.groups };
  }
}
