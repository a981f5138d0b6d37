/** Small activations with structure, and the summaries that a kernel would make of them. Deterministic. */
import type { Picture, Statistics, Summary } from "../../src/protocol";

export interface Activation {
  readonly shape: readonly number[];
  readonly axes: readonly string[];
  readonly kind: string;
  /** Row by row, last axis fastest; the batch axis has length 1. */
  readonly values: Float32Array;
}

/** Numbers in [0, 1), the same for the same seed. */
export function generator(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** `channels` maps of waves and blobs; `phase` moves them, `noise` roughens them. */
export function maps(channels: number, rows: number, columns: number, phase = 0, noise = 0.15): Activation {
  const values = new Float32Array(channels * rows * columns);
  for (let c = 0; c < channels; c++) {
    const random = generator(c + 1);
    const [fx, fy, shift, size] = [1 + random() * 5, 1 + random() * 5, random() * 6, 2 + random() * 20];
    const [bx, by] = [random(), random()];
    const grain = generator(c * 7919 + 11);
    for (let r = 0; r < rows; r++)
      for (let k = 0; k < columns; k++) {
        const [y, x] = [r / rows, k / columns];
        const wave = Math.sin(fx * x * 6 + shift + phase) * Math.cos(fy * y * 6 - shift);
        const blob = Math.exp(-((x - bx) ** 2 + (y - by) ** 2) * 20);
        values[(c * rows + r) * columns + k] = size * (0.4 * wave + blob - 0.2 + (grain() - 0.5) * noise);
      }
  }
  return { shape: [1, channels, rows, columns], axes: ["batch", "channel", "height", "width"], kind: "image", values };
}

export function statisticsOf(values: ArrayLike<number>): Statistics {
  const all = Array.from(values);
  const finite = all.filter(Number.isFinite).sort((a, b) => a - b);
  const count = all.length;
  const mean = finite.reduce((sum, value) => sum + value, 0) / (finite.length || 1);
  const variance = finite.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (finite.length || 1);
  const at = (share: number): number | null => finite[Math.floor(share * (finite.length - 1))] ?? null;
  return {
    count,
    min: at(0),
    max: at(1),
    mean: finite.length > 0 ? mean : null,
    std: finite.length > 0 ? Math.sqrt(variance) : null,
    zeros: all.filter((value) => value === 0).length / count,
    negatives: all.filter((value) => value < 0).length / count,
    nan: all.filter(Number.isNaN).length,
    inf: all.filter((value) => Math.abs(value) === Number.POSITIVE_INFINITY).length,
    p1: at(0.01),
    p99: at(0.99),
  };
}

export function histogramOf(values: ArrayLike<number>, statistics: Statistics): Summary["histogram"] {
  const [low, high] = [statistics.min, statistics.max];
  if (low === null || high === null) return null;
  const counts = new Array<number>(64).fill(0);
  for (const value of Array.from(values))
    if (Number.isFinite(value)) counts[Math.min(63, Math.floor(((value - low) / (high - low || 1)) * 64))]! += 1;
  return { low, high, counts: new DataView(Int32Array.from(counts).buffer) };
}

export function quantise(values: ArrayLike<number>, low: number, high: number): DataView {
  const codes = Uint8Array.from(Array.from(values), (value) =>
    Number.isFinite(value) ? Math.max(0, Math.min(254, Math.round(((value - low) / (high - low || 1)) * 254))) : 255,
  );
  return new DataView(codes.buffer);
}

/** Means over areas of [rows, columns] values at no more than `most` rows and columns. */
export function pooled(values: ArrayLike<number>, rows: number, columns: number, most: readonly [number, number]) {
  const [outRows, outColumns] = [Math.min(rows, most[0]), Math.min(columns, most[1])];
  const out = new Float32Array(outRows * outColumns);
  for (let r = 0; r < outRows; r++)
    for (let c = 0; c < outColumns; c++) {
      let [sum, count] = [0, 0];
      for (let y = Math.floor((r * rows) / outRows); y < ((r + 1) * rows) / outRows; y++)
        for (let x = Math.floor((c * columns) / outColumns); x < ((c + 1) * columns) / outColumns; x++, count++)
          sum += values[y * columns + x]!;
      out[r * outColumns + c] = sum / count;
    }
  return { values: out, rows: outRows, columns: outColumns };
}

const int32s = (numbers: readonly number[]): DataView => new DataView(Int32Array.from(numbers).buffer);

function rankingOf(planes: readonly ArrayLike<number>[], measure: string): NonNullable<Summary["ranking"]> {
  const scores = planes.map((plane) => statisticsOf(plane).std ?? 0);
  const order = scores.map((_, i) => i).sort((a, b) => scores[b]! - scores[a]! || a - b);
  const dead = scores.filter((score) => score === 0).length;
  return { measure, order: int32s(order), count: planes.length, dead, saturated: 0 };
}

/** Planes of an activation: [channel][row · column]. */
export function planesOf({ shape, values }: Activation): Float32Array[] {
  const size = shape[shape.length - 1]! * shape[shape.length - 2]!;
  return Array.from({ length: values.length / size }, (_, i) => values.subarray(i * size, (i + 1) * size));
}

const OVERVIEW_MAPS = 16;
const OVERVIEW_SIDE = 24;

function mapsPicture(activation: Activation, order: readonly number[], statistics: Statistics): Picture {
  const [rows, columns] = activation.shape.slice(-2) as [number, number];
  const planes = planesOf(activation);
  const channels = order.slice(0, OVERVIEW_MAPS);
  const limit = Math.max(Math.abs(statistics.p1 ?? 0), Math.abs(statistics.p99 ?? 0)) || 1;
  const small = channels.map((c) => pooled(planes[c]!, rows, columns, [OVERVIEW_SIDE, OVERVIEW_SIDE]));
  const codes = quantise(
    small.flatMap((plane) => [...plane.values]),
    -limit,
    limit,
  );
  const [first] = small;
  return {
    kind: "maps",
    channels,
    rows: first!.rows,
    columns: first!.columns,
    size: [rows, columns],
    pooled: rows > OVERVIEW_SIDE,
    low: -limit,
    high: limit,
    codes,
  };
}

/** The summary of a leaf; `picture` where it is not one of maps. */
export function summaryOf(activation: Activation, picture?: Picture, leaf = ""): Summary {
  const { shape, axes, kind, values } = activation;
  const statistics = statisticsOf(values);
  const ranked = kind === "image" || kind === "volume" || kind === "attention";
  const size = kind === "volume" ? shape.slice(2).reduce((a, b) => a * b, 1) : 0;
  const planes =
    kind === "volume"
      ? Array.from({ length: shape[1]! }, (_, i) => values.subarray(i * size, (i + 1) * size))
      : planesOf(activation);
  const ranking = ranked ? rankingOf(planes, kind === "volume" ? "variance" : "structure") : tokenRanking(activation);
  const order = ranking === null ? [0] : [...new Int32Array(ranking.order.buffer)];
  const shown = picture ?? mapsPicture(activation, order, statistics);
  return {
    leaf,
    shape,
    dtype: "float32",
    axes,
    axes_kind: kind,
    axes_reason: "an example",
    picture: shown,
    scale: "low" in shown ? [shown.low, shown.high] : [0, statistics.p99 ?? 1],
    reference: null,
    statistics,
    histogram: histogramOf(values, statistics),
    ranking,
  };
}

function tokenRanking({ kind, shape, values }: Activation): Summary["ranking"] {
  if (kind !== "tokens") return null;
  const [tokens, features] = shape.slice(-2) as [number, number];
  const column = (f: number): Float32Array =>
    Float32Array.from({ length: tokens }, (_, t) => values[t * features + f]!);
  return rankingOf(
    Array.from({ length: features }, (_, f) => column(f)),
    "spread",
  );
}
