/**
 * Guards of the wire: what arrives in a trait is checked here before anything is allocated for it.
 *
 * A message of another version, or one whose sizes contradict its bytes, raises `WireError`; a single summary that
 * does so becomes a picture of kind "nothing" that says why, so that one bad stage does not hide the others.
 */

import type { Ranking, Status, Summary, Thumbnails, TileDtype, TileInfo, TileRequest, Tiles, Wanted } from "./protocol";
import { type Bytes, type Graph, type Grid, type Options, type Overview, type Picture, VERSION } from "./protocol";
import type { Values } from "./colour";

export class WireError extends Error {
  override readonly name = "WireError";
}

/** Largest number of elements that one byte array may claim: 64 Mi, far above anything the kernel sends. */
const MAX_ELEMENTS = 2 ** 26;
const MAX_STAGES = 20_000;
type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
/** A trait that the kernel has not filled yet. */
const isEmpty = (value: unknown): boolean => !isFields(value) || !Object.keys(value).length;

function fail(what: string): never {
  throw new WireError(what);
}

/** The bytes of a buffer without copying: ipywidgets gives a DataView, other hosts an ArrayBuffer or a typed array. */
export function bytesOf(value: Bytes | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return fail("expected bytes");
}

/** A copy that any typed array can lie on; its numbers are little endian, as on every machine that a browser runs on. */
const aligned = (value: Bytes | ArrayBufferView): ArrayBuffer => bytesOf(value).slice().buffer;

/** Little-endian int32 from bytes of any alignment; what is left over is dropped. */
export const int32sOf = (value: Bytes | ArrayBufferView): Int32Array =>
  new Int32Array(aligned(value), 0, value.byteLength >> 2);

/** Of each dtype: bytes per item, and the values in the narrowest type that holds them exactly. */
const DTYPES: Readonly<Record<TileDtype, readonly [size: number, values: (data: ArrayBuffer) => Values]>> = {
  float16: [2, (data) => Float32Array.from(new Uint16Array(data), halfToFloat)],
  float32: [4, (data) => new Float32Array(data)],
  float64: [8, (data) => new Float64Array(data)],
  int32: [4, (data) => Float64Array.from(new Int32Array(data))],
  uint8: [1, (data) => Float32Array.from(new Uint8Array(data))],
};

/** `null` while the kernel has sent nothing. */
function versioned(raw: unknown, what: string): Fields | null {
  if (isEmpty(raw)) return null;
  const fields = raw as Fields;
  if (fields.version !== VERSION)
    fail(`${what} has version ${fields.version}, this front end reads ${VERSION}: reload the page`);
  return fields;
}

/** Product of sizes that must be whole, not negative and small enough. */
function elements(what: string, sizes: readonly unknown[]): number {
  let product = 1;
  for (const size of sizes) {
    if (typeof size !== "number" || !Number.isInteger(size) || size < 0) fail(`${what}: ${size} is no size`);
    product *= size;
    if (product > MAX_ELEMENTS) fail(`${what}: too large`);
  }
  return product;
}

function checkBytes(what: string, data: unknown, expected: number): void {
  const held = data instanceof ArrayBuffer || ArrayBuffer.isView(data) ? data.byteLength : -1;
  if (held !== expected) fail(`${what}: ${held < 0 ? "no bytes" : `${held} bytes`} where ${expected} belong`);
}

function checkRange(what: string, low: unknown, high: unknown): void {
  if (!Number.isFinite(low) || !Number.isFinite(high)) fail(`${what}: its range is not finite`);
}

/** The ids of what must all have different ones. */
function distinct(what: string, list: readonly { readonly id: string }[]): ReadonlySet<string> {
  const ids = new Set(list.map(({ id }) => id));
  return ids.size === list.length ? ids : fail(`graph: two ${what} share an id`);
}

/** `null` while the kernel has sent nothing. Raises `WireError`. */
export function graphFromWire(raw: unknown): Graph | null {
  const fields = versioned(raw, "graph");
  if (!fields) return null;
  for (const name of ["stages", "edges", "groups", "notes"])
    if (!Array.isArray(fields[name]) || !fields[name].every(isFields)) fail(`graph: ${name} are missing`);
  const graph = raw as Graph;
  if (graph.stages.length > MAX_STAGES) fail("graph: too many stages");
  const ids = distinct("stages", graph.stages);
  distinct("edges", graph.edges);
  for (const { id, source, target } of graph.edges)
    if (!ids.has(source) || !ids.has(target)) fail(`graph: ${id} joins a stage that is not there`);
  return graph;
}

/** The parts of a picture of any kind. */
type Parts = { readonly [name: string]: unknown } & Partial<Grid & { codes: Bytes; entries: readonly unknown[] }>;

/** Of each kind: the sizes of the array of bytes that it carries, one product for each part of it; null without one. */
const SIZES: { readonly [K in Picture["kind"]]: (picture: Extract<Picture, { kind: K }>) => number[][] | null } = {
  maps: ({ channels, rows, columns }) => [[channels.length, rows, columns]],
  photo: ({ rows, columns }) => [[rows, columns, 3]],
  vector: ({ length }) => [[length]],
  tokens: ({ rows, columns }) => [[rows, columns]],
  volume: ({ planes }) => planes.map(({ rows, columns }) => [rows, columns]),
  mask: ({ rows, columns }) => [[rows, columns]],
  boxes: () => null,
  classes: () => null,
  scalar: () => null,
  nothing: () => null,
};

function checkPicture(picture: Picture): void {
  const what = `picture (${picture.kind})`;
  if (!Object.hasOwn(SIZES, picture.kind)) fail(`picture of unknown kind ${picture.kind}`);
  const sizes = (SIZES[picture.kind] as (picture: Picture) => number[][] | null)(picture);
  if ("low" in picture) checkRange(what, picture.low, picture.high);
  if (sizes)
    checkBytes(
      what,
      (picture as Parts).codes,
      sizes.reduce((sum, each) => sum + elements(what, each), 0),
    );
  if (picture.kind === "tokens" && picture.maps)
    checkPicture({ kind: "maps", size: picture.size, pooled: true, ...picture.maps });
  if (["mask", "boxes", "classes"].includes(picture.kind) && !Array.isArray((picture as Parts).entries))
    fail(`${what}: no entries`);
}

function checkRanking(ranking: Ranking): void {
  const held = bytesOf(ranking.order).byteLength;
  if (held % 4 || held > 4096 * 4) fail(`ranking: ${held} bytes`);
}

/** The summary, or one with a picture of kind "nothing" that says what is wrong with it. */
function summaryFromWire(raw: unknown): Summary {
  const summary = raw as Summary;
  try {
    if (!isFields(raw) || !isFields(raw.picture) || !Array.isArray(raw.shape)) fail("summary without a picture");
    if (!raw.shape.every(Number.isSafeInteger)) fail(`${raw.shape.join("×")} is no shape`);
    checkPicture(summary.picture);
    checkRange("scale", ...summary.scale);
    if (summary.histogram) bytesOf(summary.histogram.counts);
    if (summary.ranking) checkRanking(summary.ranking);
    return summary;
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const known = isFields(raw) ? raw : {};
    return {
      ...{ leaf: "", dtype: "", axes: [], axes_kind: "generic", axes_reason: "", statistics: null },
      ...known,
      ...{ scale: [0, 1], reference: null, histogram: null, ranking: null },
      shape: Array.isArray(known.shape) ? (known.shape as number[]) : [],
      picture: { kind: "nothing", reason: `unreadable: ${error.message}` },
    };
  }
}

/** `null` while the kernel has sent nothing. Raises `WireError`. */
export function overviewFromWire(raw: unknown): Overview | null {
  const fields = versioned(raw, "overview");
  if (!fields) return null;
  const stages = fields.stages;
  if (!isFields(stages)) fail("overview: stages are missing");
  const checked: Record<string, readonly Summary[]> = Object.create(null);
  for (const [id, summaries] of Object.entries(stages))
    checked[id] = Array.isArray(summaries) ? summaries.map(summaryFromWire) : fail(`overview: ${id} has no summaries`);
  return { ...(raw as Overview), stages: checked };
}

/** `null` while the kernel has sent nothing. Raises `WireError`. */
export function tilesFromWire(raw: unknown): Tiles | null {
  if (isEmpty(raw)) return null;
  const { seq, tiles } = raw as Fields;
  if (typeof seq !== "number" || !Array.isArray(tiles)) fail("tiles: seq or tiles are missing");
  for (const tile of tiles as readonly TileInfo[]) {
    const what = `tile ${tile.key}`;
    if (tile.error) continue;
    const [size] = DTYPES[tile.dtype] ?? fail(`${what}: unknown dtype ${tile.dtype}`);
    checkBytes(what, tile.data, elements(what, [tile.rows, tile.columns]) * size);
  }
  return raw as Tiles;
}

export function thumbnailsFromWire(raw: unknown): Thumbnails {
  if (!isFields(raw) || !isFields(raw.frames)) return { sample: 0, frames: {} };
  const { frames } = raw as Thumbnails;
  for (const picture of Object.values(frames)) checkPicture(picture);
  return raw as Thumbnails;
}

export function wantedFromWire(raw: unknown): Wanted {
  if (!isFields(raw) || typeof raw.seq !== "number" || !Array.isArray(raw.tiles)) return { seq: 0, tiles: [] };
  return raw as unknown as Wanted;
}

const DEFAULT_OPTIONS: Options = {
  theme: "auto",
  normalisation: "stage",
  channel_order: "structure",
  height: 0,
  hold_channels: true,
  hold_colours: true,
};

export function optionsFromWire(raw: unknown): Options {
  return isFields(raw) ? { ...DEFAULT_OPTIONS, ...raw } : DEFAULT_OPTIONS;
}

const DEFAULT_STATUS: Status = { state: "idle", text: "", done: 0, total: 0, error: null, beat: 0 };

export function statusFromWire(raw: unknown): Status {
  return isFields(raw) ? { ...DEFAULT_STATUS, ...raw } : DEFAULT_STATUS;
}

/**
 * The name of a tile, the same for both sides: JSON of trace, frame (with the reference, where there is one), sample,
 * stage, leaf, channel, slice, region and size, without blanks. An array, because names may hold any separator.
 */
export function tileKey(trace: string, request: Omit<TileRequest, "key">): string {
  const { frame, reference, sample, stage, leaf, channel, slice, region, size } = request;
  const place = reference === null ? frame : [frame, reference];
  return JSON.stringify([trace, place, sample, stage, leaf, channel, slice, region, size]);
}

function halfToFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

/** The values of a tile, row by row. The bytes are copied. */
export const tileValues = ({ dtype, data }: TileInfo): Values => DTYPES[dtype][1](aligned(data));
