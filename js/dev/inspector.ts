/**
 * Inspector and slider on a kernel in the page: inspector.html?scene=_blocks.2&theme=dark&width=441, or
 * ?part=slider&width=760&samples=8&photo=no.
 * Build with `npx esbuild dev/inspector.ts src/styles.css --bundle --format=esm --entry-names=[name] --outdir=<folder>`.
 */
import type { Picture, StageInfo, Summary } from "../src/protocol";
import { createInspector } from "../src/view/inspector";
import { createSlider } from "../src/view/slider";
import { type Activation, generator, maps, quantise, statisticsOf, summaryOf } from "../test/support/activations";
import { contextOf, edgeInfo, graphOf, Kernel, type Shown, stageInfo } from "../test/support/kernel";

const query = new URLSearchParams(location.search);
const shown = (activation: Activation, picture?: Picture): Shown => ({
  activation,
  summary: summaryOf(activation, picture),
});

function photo(side: number, phase: number): Picture {
  const codes = new Uint8Array(side * side * 3);
  for (let r = 0; r < side; r++)
    for (let c = 0; c < side; c++) {
      const [y, x] = [r / side - 0.5, c / side - 0.5];
      const d = Math.hypot(x - 0.2 * Math.cos(phase), y - 0.2 * Math.sin(phase));
      const body = d < 0.22 ? 1 : 0.25 + 0.3 * Math.sin(x * 9) * Math.cos(y * 7);
      codes.set([210 * body + 30, 150 * body + 40, 90 * body + 50 + 60 * y], (r * side + c) * 3);
    }
  return {
    kind: "photo",
    rows: side,
    columns: side,
    size: [224, 224],
    pooled: true,
    codes: new DataView(codes.buffer),
  };
}

function vector(length: number, seed: number): Activation {
  const random = generator(seed);
  const values = Float32Array.from({ length }, () => (random() + random() + random() - 1.5) * 4);
  return { shape: [1, length], axes: ["batch", "feature"], kind: "vector", values };
}

function vectorPicture({ values }: Activation): Picture {
  const { min, max } = statisticsOf(values);
  const limit = Math.max(Math.abs(min!), Math.abs(max!));
  const codes = quantise(values, -limit, limit);
  return { kind: "vector", length: values.length, size: values.length, pooled: false, low: -limit, high: limit, codes };
}

function tokens(
  count: number,
  features: number,
  grid: readonly [number, number] | null,
  labels: readonly string[],
): Shown {
  const source = maps(features, count, 1, 0, 0.6).values;
  const values = new Float32Array(count * features);
  for (let t = 0; t < count; t++)
    for (let f = 0; f < features; f++) values[t * features + f] = source[f * count + t]! / 6;
  const activation: Activation = {
    shape: [1, count, features],
    axes: ["batch", "token", "feature"],
    kind: "tokens",
    values,
  };
  const codes = quantise(values, -3, 3);
  const special = grid === null ? 0 : count - grid[0] * grid[1];
  const rest = { pooled: false, grid, special, labels, maps: null, low: -3, high: 3, codes };
  return shown(activation, { kind: "tokens", rows: count, columns: features, size: [count, features], ...rest });
}

const WORDS = ["the", "cat", "sat", "on", "a", "mat", "then", "the", "cat", "sat", "on", "a"];

function attention(heads: number, count: number): Activation {
  const values = new Float32Array(heads * count * count);
  for (let h = 0; h < heads; h++)
    for (let q = 0; q < count; q++) {
      const raw = Array.from({ length: count }, (_, k) =>
        k > q ? 0 : Math.exp(-Math.abs(q - k - h * 2) * (0.6 + h * 0.4)),
      );
      const sum = raw.reduce((a, b) => a + b, 0);
      raw.forEach((weight, k) => {
        values[(h * count + q) * count + k] = weight / sum;
      });
    }
  return { shape: [1, heads, count, count], axes: ["batch", "head", "query", "key"], kind: "attention", values };
}

function volume(channels: number, size: readonly [number, number, number]): Shown {
  const flat = maps(channels, size[0] * size[1], size[2], 0, 0.1);
  const shape = [1, channels, ...size];
  const activation: Activation = {
    ...flat,
    shape,
    axes: ["batch", "channel", "depth", "height", "width"],
    kind: "volume",
  };
  const [depth, rows, columns] = size;
  const middle = Math.floor(depth / 2);
  const start = middle * rows * columns;
  const codes = quantise(flat.values.subarray(start, start + rows * columns), -12, 12);
  const planes = [{ axis: 0, index: middle, rows, columns }];
  return shown(activation, { kind: "volume", channel: 0, size, pooled: false, planes, low: -12, high: 12, codes });
}

function classes(frame: number): Shown {
  const logits = vector(1000, 5);
  const names = [
    "Egyptian cat",
    "tiger cat",
    "tabby",
    "lynx",
    "plastic bag",
    "Persian cat",
    "window screen",
    "bucket",
    "velvet",
    "Siamese cat",
  ];
  const lead = frame < 4 ? 0 : frame < 9 ? 3 : 2;
  const order = [lead, ...names.keys()].filter((i, at, all) => all.indexOf(i) === at);
  const shares = [0.38, 0.25, 0.21, 0.06, 0.0021, 0.0011, 0.0009, 0.0005, 0.0002, 0.00001];
  const entries = order.map((i, at) => ({ index: 281 + i * 3, name: names[i]!, value: shares[at]! }));
  return shown(logits, { kind: "classes", entries, count: 1000, scale: "softmax" });
}

const FRAMES = 16;

function stagesAt(frame: number): Record<string, readonly Shown[]> {
  const phase = frame * 0.25;
  const image = maps(3, 224, 224, phase, 0.05);
  const dead = maps(48, 14, 14, phase);
  dead.values.fill(0, 5 * 196, 8 * 196);
  const broken = maps(16, 28, 28, phase);
  broken.values.fill(Number.NaN, 400, 412);
  broken.values[900] = Number.POSITIVE_INFINITY;
  const pair = maps(8, 20, 40, phase);
  return {
    input: [query.get("photo") === "no" ? shown(image) : shown(image, photo(96, phase))],
    stem: [shown(maps(32, 112, 112, phase))],
    "_blocks.2": [shown(maps(24, 56, 56, phase))],
    // Too large to travel whole; slow to make, so only where it is looked at.
    large: [shown(query.get("scene") === "large" ? maps(2, 1100, 1000, phase) : maps(4, 11, 10, phase))],
    dec3: [shown(dead)],
    broken: [shown(broken)],
    pair: [shown(pair), { ...shown(vector(6, 2), vectorPicture(vector(6, 2))) }].map((one, i) => ({
      ...one,
      summary: { ...one.summary, leaf: i === 0 ? "hidden" : "state" },
    })),
    embed: [tokens(12, 64, null, WORDS)],
    vit: [tokens(197, 96, [14, 14], [])],
    attn: [shown(attention(4, 12))],
    volume: [volume(16, [24, 40, 32])],
    pool: [shown(vector(1280, 3), vectorPicture(vector(1280, 3)))],
    small: [shown(vector(48, 4), vectorPicture(vector(48, 4)))],
    output: [classes(frame)],
  };
}

const TYPES: Readonly<Record<string, Partial<StageInfo>>> = {
  input: { kind: "input", type_name: "RGB image", parameters: 0 },
  "_blocks.2": { type_name: "MBConvBlock", parameters: 8_800 },
  output: { kind: "output", type_name: "ImageNet class", parameters: 0 },
  raised: { status: "raised" },
};

const cached = new Map<number, ReturnType<typeof stagesAt>>();
const valuesAt = (frame: number) => {
  const found = cached.get(frame) ?? stagesAt(frame);
  cached.set(frame, found);
  return found;
};

function graph() {
  const values = valuesAt(0);
  const leaf = ({ summary: { leaf, shape, dtype } }: { summary: Summary }) => ({ path: leaf, shape, dtype });
  const stages = [...Object.keys(values), "raised"].map((id, order) =>
    stageInfo(id, { order, parameters: 12_480, leaves: (values[id] ?? []).map(leaf), ...TYPES[id] }),
  );
  const shape = [1, 24, 56, 56];
  const edges = [
    edgeInfo("input", "stem"),
    edgeInfo("stem", "_blocks.2", {
      via: [
        { name: "pad", detail: "(1, 1)" },
        { name: "relu", detail: "" },
      ],
    }),
    edgeInfo("_blocks.2", "large", { shape }),
    edgeInfo("_blocks.2", "dec3", {
      kind: "skip",
      via: [
        { name: "interpolate", detail: "scale_factor=2" },
        { name: "cat", detail: "dim=1" },
      ],
      shape,
    }),
    edgeInfo("stem", "dec3", { kind: "merge", via: [{ name: "mul", detail: "" }], evidence: "inferred" }),
    edgeInfo("stem", "embed"),
    edgeInfo("embed", "attn"),
    edgeInfo("input", "vit"),
  ];
  const notes = [
    { kind: "path", text: "The values come from the unfused path of nn.MultiheadAttention.", stage: "attn" },
    { kind: "note", text: "Two modules never ran: aux.conv and aux.fc.", stage: "" },
  ];
  const failure = {
    type: "RuntimeError",
    message:
      "Sizes of tensors must match except in dimension 1. Expected size 28 but got size 27 for tensor number 1 in the list.",
    op: "cat(dim=1)",
    call: "raised",
    operands: [
      { path: "", shape: [1, 32, 28, 28], dtype: "float32" },
      { path: "", shape: [1, 32, 27, 27], dtype: "float32" },
    ],
    location: "model.py:41",
  };
  return graphOf(stages, edges, { failure }, notes);
}

const theme = query.get("theme") === "dark" ? "dark" : "light";
const labels = Array.from({ length: FRAMES }, (_, i) => `σ = ${(i * 0.03).toFixed(2)}`);
const traits = {
  selected: query.get("scene") ?? "_blocks.2",
  frame_count: FRAMES,
  frame_labels: labels,
  sample_count: Number(query.get("samples") ?? 1),
};
const end = new AbortController();
const kernel = new Kernel(graph(), valuesAt, traits, query.get("kernel") !== "no");
if (query.get("answers") === "no") kernel.prompt = false;
const context = contextOf(kernel, end.signal);
context.view.theme.set(theme);
context.view.ratio.set(devicePixelRatio);
document.documentElement.className = theme;
const panel = document.getElementById("panel")!;
panel.dataset.theme = theme;
panel.style.width = `${query.get("width") ?? 441}px`;
const part = query.get("part") === "slider" ? createSlider : createInspector;
panel.append(part(context, end.signal));
Object.assign(window, { context, kernel, end });
