/** A made-up kernel: summaries and tiles of made-up stages, in the schema of the wire. */
import type { Histogram, Picture, StageInfo, Statistics, Summary, TileInfo, TileRequest } from "../src/protocol";
import { activation, noise, photo } from "./field";

/** What a stage of a scene gives out. */
export interface Made {
  readonly stage: StageInfo;
  readonly summary: Summary;
  /** Value of an element of a channel's plane, or of a vector. */
  readonly at: (channel: number, row: number, column: number) => number;
  /** Rows and columns of a plane. */
  readonly size: readonly [number, number];
}

const view = (bytes: ArrayBufferView): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export function statisticsOf(values: readonly number[]): Statistics {
  const sorted = [...values].sort((a, b) => a - b);
  const quantile = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  const share = (test: (value: number) => boolean): number => values.filter(test).length / values.length;
  return {
    count: values.length,
    min: sorted[0]!,
    max: sorted.at(-1)!,
    mean,
    std: Math.sqrt(variance),
    zeros: share((value) => value === 0),
    negatives: share((value) => value < 0),
    nan: 0,
    inf: 0,
    p1: quantile(0.01),
    p99: quantile(0.99),
  };
}

export function histogramOf(values: readonly number[], { min, max }: Statistics): Histogram {
  const [low, high] = [min ?? 0, max ?? 1];
  const counts = new Array<number>(64).fill(0);
  for (const value of values) {
    const bin = Math.min(63, Math.max(0, Math.floor(((value - low) / (high - low || 1)) * 64)));
    counts[bin] = counts[bin]! + 1;
  }
  return { low, high, counts: new DataView(Int32Array.from(counts).buffer) };
}

export function coded(values: ArrayLike<number>, { p1, p99 }: Statistics) {
  const limit = Math.max(Math.abs(p1 ?? 0), Math.abs(p99 ?? 1)) || 1;
  const low = (p1 ?? 0) < 0 ? -limit : 0;
  const codes = Uint8Array.from(values, (value) => {
    const clipped = Math.min(limit, Math.max(low, value));
    return Math.round(((clipped - low) / (limit - low)) * 254);
  });
  return { low, high: limit, codes: view(codes) };
}

export const stage = (
  id: string,
  type_name: string,
  shape: readonly number[],
  rest: Partial<StageInfo> = {},
): StageInfo => ({
  id,
  kind: "call",
  path: id,
  label: id,
  type_name,
  detail: "",
  leaves: [{ path: "", shape: [1, ...shape], dtype: "float32" }],
  parameters: 0,
  order: 0,
  group: "",
  expandable: false,
  status: "ok",
  ...rest,
});

const summaryOf = (
  info: StageInfo,
  axes: readonly string[],
  axes_kind: string,
  picture: Picture,
  values: readonly number[],
): Summary => {
  const statistics = statisticsOf(values);
  const shape = info.leaves[0]!.shape;
  const histogram = histogramOf(values, statistics);
  return {
    leaf: "",
    shape,
    dtype: "float32",
    axes,
    axes_kind,
    axes_reason: "made up",
    picture,
    scale: "low" in picture ? [picture.low, picture.high] : [0, 1],
    reference: null,
    statistics,
    histogram,
    ranking: null,
  };
};

/** Feature maps; `gain` makes them larger, `depth` more abstract. */
export function maps(info: StageInfo, depth: number, gain: number, rectified: boolean, dead = 0): Made {
  const [, channels, rows, columns] = info.leaves[0]!.shape as [number, number, number, number];
  const at = (channel: number, row: number, column: number): number =>
    gain * activation((column + 0.5) / columns, (row + 0.5) / rows, channel, depth, rectified);
  const shown = Math.min(channels, 20);
  const small = Math.min(rows, 56);
  const order = Int32Array.from({ length: channels }, (_, i) => i).sort((a, b) => noise(a, 9, 9) - noise(b, 9, 9));
  const values: number[] = [];
  for (const channel of order.subarray(0, shown))
    for (let r = 0; r < small; r++)
      for (let c = 0; c < small; c++)
        values.push(at(channel, Math.floor(((r + 0.5) * rows) / small), Math.floor(((c + 0.5) * columns) / small)));
  const picture: Picture = {
    kind: "maps",
    channels: [...order.subarray(0, shown)],
    rows: small,
    columns: small,
    size: [rows, columns],
    pooled: small < rows,
    ...coded(values, statisticsOf(values)),
  };
  const summary = summaryOf(info, ["batch", "channel", "height", "width"], "image", picture, values);
  const ranking = { measure: "structure", order: view(order), count: channels, dead, saturated: 0 };
  return { stage: info, summary: { ...summary, ranking }, at, size: [rows, columns] };
}

export function image(info: StageInfo): Made {
  const [, , rows, columns] = info.leaves[0]!.shape as [number, number, number, number];
  const side = Math.min(rows, 160);
  const codes = new Uint8Array(side * side * 3);
  const values: number[] = [];
  for (let r = 0; r < side; r++)
    for (let c = 0; c < side; c++)
      photo((c + 0.5) / side, (r + 0.5) / side).forEach((level, k) => {
        codes[(r * side + c) * 3 + k] = Math.max(0, Math.min(255, Math.round(level * 255)));
        values.push((level - 0.48) / 0.22);
      });
  const picture: Picture = {
    kind: "photo",
    rows: side,
    columns: side,
    size: [rows, columns],
    pooled: side < rows,
    codes: view(codes),
  };
  const at = (channel: number, row: number, column: number): number =>
    (photo((column + 0.5) / columns, (row + 0.5) / rows)[channel]! - 0.48) / 0.22;
  return {
    stage: info,
    summary: summaryOf(info, ["batch", "channel", "height", "width"], "image", picture, values),
    at,
    size: [rows, columns],
  };
}

export function vector(info: StageInfo, value: (i: number) => number): Made {
  const length = info.leaves[0]!.shape[1]!;
  const values = Array.from({ length }, (_, i) => value(i));
  const picture: Picture = {
    kind: "vector",
    length,
    size: length,
    pooled: false,
    ...coded(values, statisticsOf(values)),
  };
  return {
    stage: info,
    summary: summaryOf(info, ["batch", "feature"], "vector", picture, values),
    at: (_, __, i) => value(i),
    size: [1, length],
  };
}

export function classes(info: StageInfo, names: readonly string[], scores: readonly number[]): Made {
  const count = info.leaves[0]!.shape[1]!;
  const entries = names.map((name, index) => ({ index, name, value: scores[index]! }));
  const logits = Array.from({ length: count }, (_, i) =>
    i < 6 ? 8 - i * 1.3 : 2 * (noise(i, 5, 5) + noise(i, 6, 6) - 1.4),
  );
  const picture: Picture = { kind: "classes", entries, count, scale: "softmax" };
  return {
    stage: info,
    summary: summaryOf(info, ["batch", "feature"], "vector", picture, logits),
    at: (_, __, i) => logits[i]!,
    size: [1, count],
  };
}

/** The answer to a request: exact, or pooled by taking the nearest element. */
export function answer(made: Made, request: TileRequest): TileInfo {
  const [top, left, bottom, right] = request.region ?? [0, 0, ...made.size];
  const [rows, columns] = request.size ?? [bottom - top, right - left];
  const data = new Float32Array(rows * columns);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const row = top + Math.floor(((r + 0.5) * (bottom - top)) / rows);
      const column = left + Math.floor(((c + 0.5) * (right - left)) / columns);
      data[r * columns + c] = made.at(request.channel ?? 0, row, column);
    }
  const { min, max, mean } = statisticsOf([...data]);
  return {
    key: request.key,
    rows,
    columns,
    dtype: "float32",
    low: min,
    high: max,
    mean,
    exact: request.size === null,
    error: "",
    data: view(data),
  };
}
