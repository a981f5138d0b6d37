/** Stage graphs with the shapes of real networks. */

import type { LayoutEdge, LayoutGraph, LayoutGroup, LayoutStage } from "../../src/layout/types";

type Kind = LayoutEdge["kind"];
type Size = readonly number[];

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

export function chain(count: number): LayoutGraph {
  const build = new Build();
  const ids = [
    "input",
    ...Array.from({ length: Math.max(0, count - 2) }, (_, index) => `blocks.${index}`),
    "output",
  ].slice(0, count);
  for (const id of ids) build.stage(id);
  return build.chain(...ids).done();
}

export function efficientNet(): LayoutGraph {
  const sizes = [224, 112, 112, 56, 28, 14, 14, 7, 7, 7, 1, 1];
  const names = [
    "input",
    "_conv_stem",
    "_blocks.0",
    "_blocks.2",
    "_blocks.4",
    "_blocks.7",
    "_blocks.10",
    "_blocks.14",
    "_blocks.15",
    "_conv_head",
    "_avg_pooling",
    "output",
  ];
  const build = new Build();
  names.forEach((name, index) => {
    build.stage(name, [1, 16, sizes[index]!, sizes[index]!]);
  });
  return build.chain(...names).done();
}

/** `levels` resolutions with a skip each, and a bottom below them. */
export function uNet(levels = 3): LayoutGraph {
  const build = new Build();
  const size = (level: number): Size => [1, 16, 256 >> level, 256 >> level];
  const down = Array.from({ length: levels }, (_, level) => `enc${level + 1}`);
  build.stage("input", size(0));
  down.forEach((id, level) => {
    build.stage(id, size(level));
  });
  build.stage("mid", size(levels));
  for (let level = levels - 1; level >= 0; level--) build.stage(`dec${level + 1}`, size(level));
  build.stage("output", size(0));
  build.chain("input", ...down, "mid", ...down.map((id) => id.replace("enc", "dec")).reverse(), "output");
  for (const id of down) build.edge(id, id.replace("enc", "dec"), "skip");
  return build.done();
}

/** A U-Net of a diffusion model: the time reaches every block, and is the deepest source of the first. */
export function diffusionUNet(): LayoutGraph {
  const plain = uNet(3);
  const blocks = plain.stages.filter((stage) => stage.kind === "call");
  const time: LayoutStage[] = [
    { id: "input:t", kind: "input", leaves: [{ shape: [1] }], order: 0.5, group: "" },
    { id: "time_mlp", kind: "call", leaves: [{ shape: [1, 128] }], order: 0.75, group: "" },
  ];
  const edge = (source: string, target: string, kind: Kind): LayoutEdge => ({
    id: `${source}->${target}`,
    source,
    target,
    kind,
    evidence: "traced",
  });
  const edges = plain.edges.map((old) => (old.source === "input" ? edge("input", old.target, "merge") : old));
  const reads = blocks.map((block, index) => edge("time_mlp", block.id, index === 0 ? "main" : "skip"));
  return {
    stages: [...plain.stages, ...time],
    edges: [...edges, edge("input:t", "time_mlp", "main"), ...reads],
    groups: [],
  };
}

/** Two convolutions and the pooling of each level are stages of their own. */
export function fineUNet(): LayoutGraph {
  const build = new Build().stage("input", [1, 3, 256, 256]);
  const path = ["input"];
  const add = (id: string, size: number): void => {
    build.stage(id, [1, 16, size, size]);
    path.push(id);
  };
  for (let level = 0; level < 3; level++) {
    if (level > 0) add(`pool${level}`, 256 >> level);
    add(`down${level}.0`, 256 >> level);
    add(`down${level}.1`, 256 >> level);
  }
  add("pool3", 32);
  add("bottom", 32);
  for (let level = 2; level >= 0; level--) {
    add(`up${level}`, 256 >> level);
    add(`join${level}`, 256 >> level);
  }
  add("output", 256);
  build.chain(...path);
  for (let level = 0; level < 3; level++) build.edge(`down${level}.1`, `join${level}`, "skip");
  return build.done();
}

export function twoInputsTwoHeads(): LayoutGraph {
  return new Build()
    .stage("input:image")
    .stage("input:query")
    .stage("stem")
    .stage("enc")
    .stage("query")
    .stage("fuse")
    .stage("seg")
    .stage("cls")
    .stage("output:mask")
    .stage("output:shape")
    .chain("input:image", "stem", "enc", "fuse", "seg", "output:mask")
    .chain("input:query", "query")
    .edge("query", "fuse", "merge")
    .chain("fuse", "cls", "output:shape")
    .edge("stem", "seg", "skip")
    .done();
}

export function residualNet(blocks = 8): LayoutGraph {
  const build = new Build().stage("input").stage("stem");
  const path = ["input", "stem"];
  for (let block = 0; block < blocks; block++) {
    build.stage(`layer${block}.conv`).stage(`layer${block}.add`);
    path.push(`layer${block}.conv`, `layer${block}.add`);
  }
  build
    .stage("fc")
    .stage("output")
    .chain(...path, "fc", "output");
  for (let block = 0; block < blocks; block++) build.edge(path[1 + 2 * block]!, `layer${block}.add`, "skip");
  return build.done();
}

/** Every block is open. The residual stream is no stage, so each reader of it is fed by all that was added so far. */
export function transformer(layers = 3, grouped = true): LayoutGraph {
  const build = new Build().stage("input", [1, 12]).stage("embed", [1, 12, 64]).edge("input", "embed");
  if (grouped) build.group("layers");
  const stream = ["embed"];
  const read = (id: string): void => {
    stream.forEach((source, index) => {
      build.edge(source, id, index === stream.length - 1 ? "main" : "skip");
    });
  };
  for (let layer = 0; layer < layers; layer++) {
    const id = `layers.${layer}`;
    if (grouped) build.group(id, "layers");
    for (const part of ["norm1", "attn", "norm2", "mlp"]) build.stage(`${id}.${part}`, [1, 12, 64], grouped ? id : "");
    read(`${id}.norm1`);
    build.edge(`${id}.norm1`, `${id}.attn`);
    stream.push(`${id}.attn`);
    read(`${id}.norm2`);
    build.edge(`${id}.norm2`, `${id}.mlp`);
    stream.push(`${id}.mlp`);
  }
  build.stage("norm", [1, 12, 64]).stage("output", [1, 12, 31]);
  read("norm");
  return build.edge("norm", "output").done();
}

export function star(branches = 40): LayoutGraph {
  const build = new Build().stage("input").stage("router");
  const ids = Array.from({ length: branches }, (_, index) => `experts.${index}`);
  for (const id of ids) build.stage(id);
  build.stage("combine").stage("output").chain("input", "router");
  ids.forEach((id, index) => {
    build.edge("router", id).edge(id, "combine", index === branches - 1 ? "main" : "merge");
  });
  return build.chain("combine", "output").done();
}

export function manyHeads(heads = 10): LayoutGraph {
  const build = new Build().stage("input").stage("backbone").stage("neck").chain("input", "backbone", "neck");
  for (let head = 0; head < heads; head++) {
    build.stage(`heads.${head}`).stage(`output:${head}`).chain("neck", `heads.${head}`, `output:${head}`);
  }
  return build.done();
}

export function inception(): LayoutGraph {
  const build = new Build().stage("input").stage("stem").chain("input", "stem");
  let from = "stem";
  for (let block = 0; block < 2; block++) {
    const id = `mixed${block}`;
    build.group(id);
    for (const part of ["b1", "b2.0", "b2.1", "b3.0", "b3.1", "b3.2", "pool", "proj"])
      build.stage(`${id}.${part}`, [1, 8, 8, 8], id);
    const to = block === 0 ? "reduce" : "output";
    build.stage(to);
    build
      .chain(from, `${id}.b1`)
      .chain(from, `${id}.b2.0`, `${id}.b2.1`)
      .chain(from, `${id}.b3.0`, `${id}.b3.1`, `${id}.b3.2`, to);
    build.chain(from, `${id}.pool`, `${id}.proj`);
    for (const last of ["b1", "b2.1", "proj"]) build.edge(`${id}.${last}`, to, "merge");
    from = to;
  }
  return build.done();
}

export function denseNet(layers = 6): LayoutGraph {
  const build = new Build().stage("input");
  const path = ["input", ...Array.from({ length: layers }, (_, index) => `dense.${index}`), "output"];
  for (const id of path.slice(1)) build.stage(id);
  build.chain(...path);
  for (let to = 2; to < path.length; to++)
    for (let from = 0; from < to - 1; from++) build.edge(path[from]!, path[to]!, "skip");
  return build.done();
}

/** Encoder and decoder of a translation model: the memory is read by every decoder layer. */
export function seq2seq(layers = 4): LayoutGraph {
  const build = new Build().stage("input:src").stage("input:tgt").stage("src_embed");
  const encoder = ["input:src", "src_embed", ...Array.from({ length: layers }, (_, index) => `encoder.${index}`)];
  for (const id of encoder.slice(2)) build.stage(id);
  build.stage("tgt_embed");
  const decoder = Array.from({ length: layers }, (_, index) => `decoder.${index}`);
  for (const id of decoder) build.stage(id);
  build
    .stage("output")
    .chain(...encoder, decoder[0]!)
    .chain("input:tgt", "tgt_embed")
    .chain(...decoder, "output");
  build.edge("tgt_embed", decoder[0]!, "merge");
  for (const id of decoder.slice(1)) build.edge(encoder.at(-1)!, id, "skip");
  return build.done();
}

/** Outputs, hidden states and cells of stacked LSTM layers. */
export function lstm(): LayoutGraph {
  return new Build()
    .stage("input:x")
    .stage("input:h0")
    .stage("input:c0")
    .stage("embed")
    .stage("lstm.0")
    .stage("lstm.1")
    .stage("head")
    .stage("output:logits")
    .stage("output:hn")
    .stage("output:cn")
    .chain("input:x", "embed", "lstm.0", "lstm.1", "head", "output:logits")
    .edge("input:h0", "lstm.0", "merge")
    .edge("input:c0", "lstm.0", "merge")
    .edge("input:h0", "lstm.1", "skip")
    .edge("input:c0", "lstm.1", "skip")
    .edge("lstm.1", "output:hn")
    .edge("lstm.1", "output:cn")
    .done();
}

/** Feature pyramid: lateral skips into a top-down path, a head at each level, ranks that differ. */
export function pyramid(): LayoutGraph {
  const build = new Build()
    .stage("input")
    .stage("stem")
    .stage("c2")
    .stage("c3")
    .stage("c4")
    .stage("c5")
    .chain("input", "stem", "c2", "c3", "c4", "c5");
  for (const level of [5, 4, 3, 2]) build.stage(`p${level}`);
  build.chain("c5", "p5", "p4", "p3", "p2");
  for (const level of [4, 3, 2]) build.edge(`c${level}`, `p${level}`, "skip");
  for (const level of [2, 3, 4, 5])
    build.stage(`head${level}`).stage(`output:${level}`).chain(`p${level}`, `head${level}`, `output:${level}`);
  return build.done();
}

export function withIsolated(): LayoutGraph {
  return new Build()
    .stage("input")
    .stage("a")
    .stage("unused")
    .stage("b")
    .stage("spare")
    .stage("output")
    .chain("input", "a", "b", "output")
    .done();
}

/** Attributes that modules leave on each other can close a cycle. */
export function cyclic(): LayoutGraph {
  return new Build()
    .stage("input")
    .stage("a")
    .stage("b")
    .stage("c")
    .stage("output")
    .chain("input", "a", "b", "c", "output")
    .edge("c", "a", "merge")
    .edge("b", "a", "skip")
    .done();
}

/** EfficientNet at depth 2: blocks as groups, residual arcs around whole blocks. */
export function openBlocks(): LayoutGraph {
  const build = new Build().stage("input").stage("bn0");
  const path = ["input", "bn0"];
  const residual: [string, string][] = [];
  for (let block = 0; block < 16; block++) {
    const id = `_blocks.${block}`;
    build.group(id);
    const parts = block === 0 ? ["dw", "pw"] : ["expand", "dw", "pw"];
    const before = path.at(-1)!;
    for (const part of parts) {
      build.stage(`${id}.${part}`, [1, 8, 8, 8], id);
      path.push(`${id}.${part}`);
    }
    if ([2, 4, 6, 7, 9, 10, 12, 13, 14].includes(block)) residual.push([before, id]);
  }
  for (const id of ["bn1", "pool", "fc", "output"]) build.stage(id);
  build.chain(...path, "bn1", "pool", "fc", "output");
  for (const [before, id] of residual) build.edge(before, path[path.indexOf(`${id}.pw`) + 1] ?? "bn1", "skip");
  return build.done();
}

export const FIXTURES: Readonly<Record<string, () => LayoutGraph>> = {
  "one stage": () => chain(1),
  "two stages": () => chain(2),
  EfficientNet: efficientNet,
  "U-Net": uNet,
  "diffusion U-Net": diffusionUNet,
  "fine U-Net": fineUNet,
  "two inputs, two heads": twoInputsTwoHeads,
  "residual net": residualNet,
  transformer: transformer,
  "transformer, closed": () => transformer(2, false),
  star: star,
  "many heads": manyHeads,
  inception: inception,
  "dense net": denseNet,
  "sequence to sequence": seq2seq,
  LSTM: lstm,
  pyramid: pyramid,
  "isolated stages": withIsolated,
  cycle: cyclic,
  "open blocks": openBlocks,
  "chain of 300": () => chain(300),
};
