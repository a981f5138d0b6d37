/** Networks to look at while working on the front end. All of it is made up. */
import type { EdgeInfo, EdgeKind, FailureInfo, Graph, GroupInfo, NoteInfo } from "../src/protocol";
import { noise } from "./field";
import { classes, image, type Made, maps, stage, vector } from "./kernel";

export interface Scene {
  readonly graph: Graph;
  readonly made: readonly Made[];
}

const edge = (
  source: string,
  target: string,
  kind: EdgeKind = "main",
  via = "",
  shape: readonly number[] | null = null,
): EdgeInfo => {
  const [name, detail] = via.split(":");
  const ops = name ? [{ name, detail: detail ?? "" }] : [];
  return {
    id: `${source}->${target}`,
    source,
    target,
    kind,
    via: ops,
    shape: shape && [1, ...shape],
    dtype: "float32",
    evidence: "traced",
  };
};

interface Rest {
  readonly notes?: readonly NoteInfo[];
  readonly groups?: readonly GroupInfo[];
  readonly failure?: FailureInfo;
}

function graphOf(
  name: string,
  parameters: number,
  made: readonly Made[],
  edges: readonly EdgeInfo[],
  rest: Rest = {},
): Scene {
  const stages = made.map((each, order) => ({ ...each.stage, order }));
  const model = { name, parameters, device: "cpu", forward_ms: 75.2 };
  const { notes = [], groups = [], failure = null } = rest;
  return {
    made,
    graph: { version: 1, trace: name, model, topology: "runtime", stages, groups, edges, notes, failure },
  };
}

const chain = (made: readonly Made[]): EdgeInfo[] =>
  made
    .slice(1)
    .map((each, i) => edge(made[i]!.stage.id, each.stage.id, "main", "", made[i]!.stage.leaves[0]!.shape.slice(1)));

function classifier(): Scene {
  const block = (i: number, c: number, r: number, res: boolean, depth: number, dead = 0): Made =>
    maps(
      stage(`_blocks.${i}`, "MBConv", [c, r, r], { detail: res ? "+ res" : "", expandable: true }),
      depth,
      12 + i,
      false,
      dead,
    );
  const made = [
    image(stage("input", "RGB image", [3, 224, 224], { kind: "input" })),
    maps(stage("_conv_stem", "Conv2d", [32, 112, 112], { detail: "3×3 /2" }), 0, 9, false),
    block(0, 16, 112, false, 0.05),
    block(2, 24, 56, true, 0.2),
    block(4, 40, 28, true, 0.4),
    block(7, 80, 14, true, 0.6, 3),
    block(10, 112, 14, true, 0.7),
    block(14, 192, 7, true, 0.9),
    block(15, 320, 7, false, 0.95),
    maps(stage("_conv_head", "Conv2d", [1280, 7, 7], { detail: "1×1" }), 1, 10, false),
    vector(stage("_avg_pooling", "AdaptiveAvgPool2d", [1280]), (i) => Math.max(0, 7 * (noise(i, 3, 3) - 0.61))),
    classes(
      stage("output", "ImageNet class", [1000], { kind: "output" }),
      ["barn", "boathouse", "church", "lakeside", "fence", "hay", "plough", "valley"],
      [0.68, 0.15, 0.11, 0.03, 0.01, 0.004, 0.002, 0.001],
    ),
  ];
  const notes = [{ kind: "path", text: "Stochastic depth is off: the model runs in eval mode.", stage: "_blocks.4" }];
  return graphOf("EfficientNet", 4_652_008, made, chain(made), { notes });
}

function unet(): Scene {
  const conv = (id: string, c: number, r: number, depth: number, dead = 0): Made =>
    maps(stage(id, "Sequential", [c, r, r], { expandable: true }), depth, 3, true, dead);
  const made = [
    image(stage("input", "image + noise", [3, 256, 256], { kind: "input" })),
    conv("enc1", 16, 256, 0),
    conv("enc2", 32, 128, 0.1),
    conv("enc3", 48, 64, 0.3),
    conv("mid", 96, 32, 0.5),
    conv("dec3", 48, 64, 0.3, 1),
    conv("dec2", 32, 128, 0.1),
    conv("dec1", 16, 256, 0),
    image(stage("output", "denoised image", [3, 256, 256], { kind: "output" })),
  ];
  const skips = [1, 2, 3].map((i) =>
    edge(`enc${i}`, `dec${i}`, "skip", "cat:dim=1", made[i]!.stage.leaves[0]!.shape.slice(1)),
  );
  return graphOf("UNet", 301_475, made, [...chain(made), ...skips]);
}

function find(): Scene {
  const made = [
    image(stage("input:image", "input", [3, 64, 64], { kind: "input", label: "image" })),
    maps(stage("stem", "Sequential", [16, 64, 64]), 0, 4, true),
    maps(stage("enc", "Sequential", [48, 16, 16]), 0.4, 6, true, 1),
    vector(stage("input:query", "input", [6], { kind: "input", label: "query" }), (i) => (i === 3 ? 1 : 0)),
    vector(stage("query", "Sequential", [48]), (i) => 1.4 * (noise(i, 4, 4) - 0.55)),
    maps(stage("fuse", "Sequential", [64, 16, 16]), 0.6, 13, true),
    maps(stage("seg", "Sequential", [1, 64, 64]), 0.5, 5, false),
    vector(stage("cls", "Sequential", [4]), (i) => [5.24, -2, -3, -4.1][i]!),
    maps(stage("output:mask", "output", [1, 64, 64], { kind: "output", label: "mask" }), 0.2, 1, true),
    classes(
      stage("output:shape", "output", [4], { kind: "output", label: "shape" }),
      ["disc", "square", "triangle", "ring"],
      [0.997, 0.001, 0.001, 0.001],
    ),
  ];
  const edges = [
    edge("input:image", "stem", "main", "", [3, 64, 64]),
    edge("stem", "enc", "main", "", [16, 64, 64]),
    edge("input:query", "query", "main", "", [6]),
    edge("enc", "fuse", "main", "mul", [48, 16, 16]),
    edge("query", "fuse", "merge", "mul", [48, 1, 1]),
    edge("fuse", "seg", "main", "interpolate", [64, 16, 16]),
    edge("stem", "seg", "skip", "cat:1", [16, 64, 64]),
    edge("fuse", "cls", "main", "mean:(2, 3)", [64]),
    edge("seg", "output:mask", "main", "sigmoid", [1, 64, 64]),
    edge("cls", "output:shape", "main", "", [4]),
  ];
  return graphOf("Find", 97_112, made, edges);
}

/** Eight residual blocks of three layers, opened: groups and residual arcs. */
function residual(): Scene {
  const made: Made[] = [image(stage("input", "RGB image", [3, 64, 64], { kind: "input" }))];
  const groups: GroupInfo[] = [];
  const skips: EdgeInfo[] = [];
  for (let b = 0; b < 8; b++) {
    const [c, r] = [16 * 2 ** (b >> 1), 64 >> (b >> 1)];
    groups.push({ id: `layer.${b}`, label: `layer.${b}`, type_name: "Block", parent: "" });
    for (const name of ["conv1", "conv2", "add"])
      made.push(
        maps(
          stage(`layer.${b}.${name}`, name === "add" ? "Add" : "Conv2d", [c, r, r], {
            label: name,
            group: `layer.${b}`,
          }),
          b / 8,
          4,
          name === "add",
        ),
      );
    if (b > 0) skips.push(edge(`layer.${b - 1}.add`, `layer.${b}.add`, "skip", "add", [c, r, r]));
  }
  made.push(
    classes(
      stage("output", "class", [10], { kind: "output" }),
      ["barn", "ship", "truck", "plane"],
      [0.8, 0.1, 0.05, 0.01],
    ),
  );
  return graphOf("ResNet", 2_797_610, made, [...chain(made), ...skips], { groups });
}

/** The forward stopped in a concatenation. */
function raised(): Scene {
  const { made, graph } = unet();
  const stages = graph.stages.map((each) =>
    each.id === "dec2"
      ? { ...each, status: "raised" as const }
      : ["dec1", "output"].includes(each.id)
        ? { ...each, status: "not-run" as const, leaves: [] }
        : each,
  );
  const ran = made.filter(({ stage: { id } }) => !["dec2", "dec1", "output"].includes(id));
  const failure: FailureInfo = {
    type: "RuntimeError",
    message:
      "Sizes of tensors must match except in dimension 1. Expected size 124 but got size 125 for tensor number 1 in the list.",
    op: "torch.cat",
    call: "",
    operands: [
      { path: "", shape: [1, 48, 124, 124], dtype: "float32" },
      { path: "", shape: [1, 32, 125, 125], dtype: "float32" },
    ],
    location: "d2 = self.dec2(torch.cat([up(d3), e2], dim=1))",
  };
  return { made: ran, graph: { ...graph, stages, failure } };
}

export const SCENES: Readonly<Record<string, () => Scene>> = { classifier, unet, find, residual, raised };
