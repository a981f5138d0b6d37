/**
 * Pictures: slices of values to pixels. Downscaling averages the *values* over areas and colours afterwards (a mean of
 * colours of both signs would be grey where the mean is zero); upscaling repeats pixels and is left to the browser.
 */
import { held, times } from "../lists";
import { type ColourTable, codesToRgba, decode, floatsToRgba, type Scale, type Values } from "../colour";
import type { Picture } from "../protocol";
import { bytesOf } from "../wire";

/** A 2-D slice of an activation, row by row: exact or pooled values of a tile, or quantised codes of an overview. */
export type Plane = { readonly rows: number; readonly columns: number; readonly exact: boolean } & (
  | { readonly kind: "codes"; readonly codes: Uint8Array; readonly low: number; readonly high: number }
  | { readonly kind: "values"; readonly values: Values }
);

export const planeOfValues = (rows: number, columns: number, values: Values, exact: boolean) =>
  ({ kind: "values", rows, columns, values, exact }) as const;

/** Opaque pixels, top row first, RGBA. */
export interface Bitmap {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8ClampedArray;
}

interface Coded {
  readonly low: number;
  readonly high: number;
  readonly codes: DataView;
}

/** `rows` × `columns` codes from element `start` on. */
export function planeOfCodes(coded: Coded, rows: number, columns: number, start = 0): Plane {
  const codes = bytesOf(coded.codes).subarray(start, start + rows * columns);
  return { kind: "codes", rows, columns, exact: false, codes, low: coded.low, high: coded.high };
}

/** The maps of a picture, one plane per channel in the order of `channels`. */
export function mapPlanes(picture: Extract<Picture, { kind: "maps" }>): readonly Plane[] {
  const { rows, columns } = picture;
  return picture.channels.map((_, i) => planeOfCodes(picture, rows, columns, i * rows * columns));
}

/** The value at a place of the plane; NaN where it is not finite. */
export function valueAt(plane: Plane, row: number, column: number): number {
  const i = row * plane.columns + column;
  return plane.kind === "codes" ? decode(plane.codes[i]!, plane.low, plane.high) : plane.values[i]!;
}

const ranges = new WeakMap<Plane, { readonly low: number; readonly high: number }>();

/** Least and greatest finite value; 0 and 0 where there is none. */
export const planeRange = (plane: Plane): { readonly low: number; readonly high: number } =>
  held(ranges, plane, () => rangeOf(plane));

function rangeOf(plane: Plane): { readonly low: number; readonly high: number } {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < plane.rows * plane.columns; i++) {
    const value = valueAt(plane, 0, i);
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? { low, high } : { low: 0, high: 0 };
}

/** Index range [from, to) and the weights of its ends, of output cell `i` when `size` cells become `out`. */
function span(i: number, size: number, out: number): { from: number; to: number; first: number; last: number } {
  const start = (i * size) / out;
  const end = ((i + 1) * size) / out;
  const from = Math.floor(start);
  const to = Math.min(size, Math.max(from + 1, Math.ceil(end - 1e-9)));
  return { from, to, first: Math.min(1, from + 1 - start), last: Math.min(1, end - (to - 1)) };
}

const weight = (j: number, s: ReturnType<typeof span>): number =>
  j === s.from ? s.first : j === s.to - 1 ? s.last : 1;

/** Means over areas; `at(row, column)` gives a value. NaN counts only where a cell holds nothing else. */
function areaMeans(rows: number, columns: number, out: readonly [number, number], at: (i: number) => number) {
  const [outRows, outColumns] = out;
  const means = new Float32Array(outRows * outColumns);
  const across = times(outColumns, (c) => span(c, columns, outColumns));
  for (let r = 0; r < outRows; r++) {
    const down = span(r, rows, outRows);
    for (let c = 0; c < outColumns; c++) {
      const over = across[c]!;
      let [sum, total] = [0, 0];
      for (let y = down.from; y < down.to; y++)
        for (let x = over.from; x < over.to; x++) {
          const value = at(y * columns + x);
          if (!Number.isFinite(value)) continue;
          const w = weight(y, down) * weight(x, over);
          sum += w * value;
          total += w;
        }
      means[r * outColumns + c] = total > 0 ? sum / total : Number.NaN;
    }
  }
  return means;
}

/** The plane at no more than `rows` × `columns`, by area means; itself where it is small enough. */
export function shrink(plane: Plane, rows: number, columns: number): Plane {
  const out = [Math.min(plane.rows, Math.max(1, rows)), Math.min(plane.columns, Math.max(1, columns))] as const;
  if (out[0] === plane.rows && out[1] === plane.columns) return plane;
  const values = areaMeans(plane.rows, plane.columns, out, (i) => valueAt(plane, 0, i));
  return planeOfValues(out[0], out[1], values, false);
}

/** Opaque, white. */
export const blank = (width: number, height: number): Bitmap => ({
  width,
  height,
  rgba: new Uint8ClampedArray(width * height * 4).fill(255),
});

export interface Paint {
  readonly scale: Scale;
  readonly table: ColourTable;
  /** Size on screen, CSS px. */
  readonly width: number;
  readonly height: number;
  /** Device pixels per CSS px. */
  readonly ratio: number;
}

/** Pixels of a plane: as many as it has or as the screen can show, whichever is less. */
export function bitmapOf(plane: Plane, paint: Paint): Bitmap {
  const small = shrink(plane, Math.round(paint.height * paint.ratio), Math.round(paint.width * paint.ratio));
  const bitmap = blank(small.columns, small.rows);
  if (small.kind === "codes") codesToRgba(small.codes, small, paint.scale, paint.table, bitmap.rgba);
  else floatsToRgba(small.values, paint.scale, paint.table, bitmap.rgba);
  return bitmap;
}

type Photo = Pick<Extract<Picture, { kind: "photo" }>, "rows" | "columns" | "codes">;

/** Pixels of an RGB photo. */
export function photoBitmap(photo: Photo, size: Pick<Paint, "width" | "height" | "ratio">): Bitmap {
  const height = Math.max(1, Math.min(photo.rows, Math.round(size.height * size.ratio)));
  const width = Math.max(1, Math.min(photo.columns, Math.round(size.width * size.ratio)));
  const bytes = bytesOf(photo.codes);
  const bitmap = blank(width, height);
  for (let k = 0; k < 3; k++) {
    const means = areaMeans(photo.rows, photo.columns, [height, width], (i) => bytes[i * 3 + k]!);
    for (let i = 0; i < means.length; i++) bitmap.rgba[i * 4 + k] = means[i]!;
  }
  return bitmap;
}

/** Puts a bitmap on a canvas of width × height CSS px; pixels larger than the screen's stay hard squares. */
export function putBitmap(canvas: HTMLCanvasElement, bitmap: Bitmap, width: number, height: number): void {
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.style.imageRendering = "pixelated";
  const context = canvas.getContext("2d");
  if (!context) return;
  const image = context.createImageData(bitmap.width, bitmap.height);
  image.data.set(bitmap.rgba);
  context.putImageData(image, 0, 0);
}

/** Paints a plane on a canvas and marks the canvas `data-exact` when its values are exact. */
export function paintPlane(canvas: HTMLCanvasElement, plane: Plane, paint: Paint): void {
  putBitmap(canvas, bitmapOf(plane, paint), paint.width, paint.height);
  canvas.toggleAttribute("data-exact", plane.exact);
}

const BMP_HEADER = 54;

/**
 * A bitmap as `data:` URL for an SVG image. Uncompressed BMP: written in one pass, and unlike a canvas read back it is
 * the same in browsers that blur canvases against fingerprinting.
 */
export function bitmapUrl(bitmap: Bitmap): string {
  const { width, height, rgba } = bitmap;
  const file = new Uint8Array(BMP_HEADER + width * height * 4);
  // "BM", the size of the file, where the pixels start; size of the rest of the header, width, height (negative: the top
  // row comes first), one plane of 32 bits. Halves of 32-bit numbers, in little endian as on every machine with a browser.
  const halves = (...numbers: readonly number[]): number[] => numbers.flatMap((number) => [number, number >> 16]);
  const header = [0x4d42, ...halves(file.length, 0, BMP_HEADER, 40, width, -height), 1, 32];
  new Uint16Array(file.buffer).set(header);
  // RGBA; the file wants BGR.
  for (let i = 0, at = BMP_HEADER; i < rgba.length; i += 4, at += 4)
    for (let k = 0; k < 3; k++) file[at + k] = rgba[i + 2 - k]!;
  return `data:image/bmp;base64,${base64(file)}`;
}

const DIGITS = new TextEncoder().encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

/** By hand: btoa wants a string of the bytes first, which takes longer than all of the rest. */
function base64(bytes: Uint8Array): string {
  const out = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  for (let i = 0, o = 0; i < bytes.length; i += 3, o += 4) {
    const three = (bytes[i]! << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    for (let k = 0; k < 4; k++) out[o + k] = DIGITS[(three >> (18 - 6 * k)) & 63]!;
  }
  const missing = (3 - (bytes.length % 3)) % 3;
  out.fill(61, out.length - missing);
  return new TextDecoder().decode(out);
}
