/**
 * Guards of the wire: what arrives in a trait is checked here before anything is allocated for it.
 *
 * A message of another version, or one whose sizes contradict its bytes, raises `WireError`; a single summary that
 * does so becomes a picture of kind "nothing" that says why, so that one bad stage does not hide the others.
 */

import type { Ranking, Status, Summary, Thumbnails, TileDtype, TileInfo, TileRequest, Tiles, Wanted } from "./protocol";
import { type Bytes, type Graph, type Options, type Overview, type Picture, VERSION } from "./protocol";

export class WireError extends Error {
  override readonly name = "WireError";
}

/** Largest number of elements that one byte array may claim: 64 Mi, far above anything the kernel sends. */
const MAX_ELEMENTS = 2 ** 26;
const MAX_STAGES = 20_000;
const ITEM_BYTES: Readonly<Record<TileDtype, number>> = { float16: 2, float32: 4, float64: 8, int32: 4, uint8: 1 };

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

/** Little-endian int32 from bytes of any alignment. */
export function int32sOf(value: Bytes | ArrayBuffer | ArrayBufferView): Int32Array {
  const bytes = bytesOf(value);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out = new Int32Array(bytes.byteLength >> 2);
  for (let i = 0; i < out.length; i++) out[i] = view.getInt32(i * 4, true);
  return out;
}

function checkVersion(raw: Fields, what: string): void {
  if (raw.version !== VERSION)
    fail(`${what} has version ${String(raw.version)}, this front end reads ${VERSION}: reload the page`);
}

/** Product of sizes that must be whole, not negative and small enough. */
function elements(what: string, ...sizes: readonly unknown[]): number {
  let product = 1;
  for (const size of sizes) {
    if (typeof size !== "number" || !Number.isInteger(size) || size < 0) fail(`${what}: ${String(size)} is no size`);
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

/** `null` while the kernel has sent nothing. Raises `WireError`. */
export function graphFromWire(raw: unknown): Graph | null {
  if (isEmpty(raw)) return null;
  const fields = raw as Fields;
  checkVersion(fields, "graph");
  for (const name of ["stages", "edges", "groups", "notes"])
    if (!Array.isArray(fields[name]) || !fields[name].every(isFields)) fail(`graph: ${name} are missing`);
  const graph = raw as Graph;
  if (graph.stages.length > MAX_STAGES) fail("graph: too many stages");
  const ids = new Set(graph.stages.map((stage) => stage.id));
  if (ids.size !== graph.stages.length) fail("graph: two stages share an id");
  if (new Set(graph.edges.map((edge) => edge.id)).size !== graph.edges.length) fail("graph: two edges share an id");
  for (const edge of graph.edges)
    if (!ids.has(edge.source) || !ids.has(edge.target)) fail(`graph: ${edge.id} joins a stage that is not there`);
  return graph;
}

function checkPicture(picture: Picture): void {
  const what = `picture (${picture.kind})`;
  if ("low" in picture) checkRange(what, picture.low, picture.high);
  switch (picture.kind) {
    case "maps":
      checkBytes(what, picture.codes, elements(what, picture.channels.length, picture.rows, picture.columns));
      break;
    case "photo":
      checkBytes(what, picture.codes, elements(what, picture.rows, picture.columns, 3));
      break;
    case "vector":
      checkBytes(what, picture.codes, elements(what, picture.length));
      break;
    case "tokens":
      checkBytes(what, picture.codes, elements(what, picture.rows, picture.columns));
      if (picture.maps) checkPicture({ kind: "maps", size: picture.size, pooled: true, ...picture.maps });
      break;
    case "volume":
      for (const plane of picture.planes) elements(what, plane.rows, plane.columns);
      checkBytes(
        what,
        picture.codes,
        picture.planes.reduce((sum, plane) => sum + plane.rows * plane.columns, 0),
      );
      break;
    case "mask":
      checkBytes(what, picture.codes, elements(what, picture.rows, picture.columns));
      if (!Array.isArray(picture.entries)) fail(`${what}: no entries`);
      break;
    case "boxes":
    case "classes":
      if (!Array.isArray(picture.entries)) fail(`${what}: no entries`);
      break;
    case "scalar":
    case "nothing":
      break;
    default:
      fail(`picture of unknown kind ${String((picture satisfies never as Fields).kind)}`);
  }
}

function checkRanking(ranking: Ranking): void {
  const held = bytesOf(ranking.order).byteLength;
  if (held % 4 !== 0 || held > 4096 * 4) fail(`ranking: ${held} bytes`);
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
    const colours = { scale: [0, 1] as const, reference: null };
    const rest = { leaf: "", dtype: "", axes: [], axes_kind: "generic", axes_reason: "", statistics: null };
    const picture = { kind: "nothing", reason: `unreadable: ${error.message}` } as const;
    const shape = Array.isArray(known.shape) ? (known.shape as number[]) : [];
    return { ...rest, ...known, ...colours, histogram: null, ranking: null, shape, picture };
  }
}

/** `null` while the kernel has sent nothing. Raises `WireError`. */
export function overviewFromWire(raw: unknown): Overview | null {
  if (isEmpty(raw)) return null;
  const fields = raw as Fields;
  checkVersion(fields, "overview");
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
    const size = ITEM_BYTES[tile.dtype] ?? fail(`${what}: unknown dtype ${String(tile.dtype)}`);
    checkBytes(what, tile.data, elements(what, tile.rows, tile.columns) * size);
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
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** The values of a tile, row by row, in the narrowest type that holds them exactly. The bytes are copied. */
export function tileValues(tile: TileInfo): Float32Array | Float64Array {
  const bytes = bytesOf(tile.data);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = tile.rows * tile.columns;
  const wide = tile.dtype === "float64" || tile.dtype === "int32";
  const out = wide ? new Float64Array(count) : new Float32Array(count);
  const read: Readonly<Record<TileDtype, (i: number) => number>> = {
    float16: (i) => halfToFloat(view.getUint16(i * 2, true)),
    float32: (i) => view.getFloat32(i * 4, true),
    float64: (i) => view.getFloat64(i * 8, true),
    int32: (i) => view.getInt32(i * 4, true),
    uint8: (i) => view.getUint8(i),
  };
  const at = read[tile.dtype];
  for (let i = 0; i < count; i++) out[i] = at(i);
  return out;
}
