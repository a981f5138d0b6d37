/** Branches, residual streams, groups, and what no network should have but one does. */

import type { LayoutGraph } from "../../src/layout/types";
import { Build } from "./build";

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
