/** Chains, U-Nets, pyramids: networks with one trunk. */

import type { LayoutEdge, LayoutGraph, LayoutStage } from "../../src/layout/types";
import { Build, type Kind, type Size } from "./build";

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

/** A forward that stopped in the second join: no outer bridge, stages that never ran. */
export function brokenUNet(): LayoutGraph {
  const build = new Build();
  const down = ["input", "enc1", "enc2", "enc3", "mid"];
  const size = (level: number): Size => [1, 16, 250 >> level, 250 >> level];
  down.forEach((id, index) => {
    build.stage(id, size(Math.max(0, index - 1)));
  });
  build.stage("dec3", size(2)).stage("cat", [1, 32, 124, 124]).stage("dec2", []).stage("dec1", []).stage("head", []);
  return build
    .chain(...down, "dec3", "cat")
    .edge("enc3", "dec3", "skip")
    .edge("enc2", "cat", "skip")
    .done();
}

/** Encoder and decoder opened: groups around the arms and around the levels, two skips per level. */
export function openUNet(): LayoutGraph {
  const build = new Build().group("encoder").group("decoder").stage("input", [1, 3, 128, 128]);
  const path = ["input"];
  for (let level = 0; level < 3; level++) {
    build.group(`encoder.${level}`, "encoder");
    for (const part of ["res0", "res1"]) {
      const id = `encoder.${level}.${part}`;
      build.stage(id, [1, 16, 128 >> level, 128 >> level], `encoder.${level}`);
      path.push(id);
    }
  }
  build.stage("mid", [1, 64, 16, 16]);
  path.push("mid");
  for (let level = 2; level >= 0; level--) {
    build.group(`decoder.${level}`, "decoder");
    for (const part of ["res0", "res1"]) {
      const id = `decoder.${level}.${part}`;
      build.stage(id, [1, 16, 128 >> level, 128 >> level], `decoder.${level}`);
      path.push(id);
    }
  }
  build.stage("output", [1, 3, 128, 128]);
  build.chain(...path, "output");
  for (let level = 0; level < 3; level++) {
    build
      .edge(`encoder.${level}.res1`, `decoder.${level}.res0`, "skip")
      .edge(`encoder.${level}.res0`, `decoder.${level}.res1`, "skip");
  }
  return build.done();
}
