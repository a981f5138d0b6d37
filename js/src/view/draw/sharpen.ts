/** A photo at full size: its brightness follows the tensor's values linearly, channel by channel, and that line is found. */
import type { Picture } from "../../protocol";
import { bytesOf } from "../../wire";
import { type Plane, shrink, valueAt } from "../canvas";

type Photo = Extract<Picture, { kind: "photo" }>;
export type PhotoPixels = Pick<Photo, "rows" | "columns" | "codes">;

interface Line {
  readonly slope: number;
  readonly offset: number;
}

/** Levels at the ends of the scale may have been clipped. */
const [LEAST, MOST] = [1, 254];
/** Mean error in levels up to which the values explain the photo. */
const TOLERANCE = 3;

/** Least squares of level = slope · value + offset; null where the values do not explain the levels. */
function fitLine(values: readonly number[], levels: readonly number[]): Line | null {
  const n = values.length;
  if (n < 2) return null;
  const mean = (list: readonly number[]): number => list.reduce((sum, each) => sum + each, 0) / n;
  const [mv, ml] = [mean(values), mean(levels)];
  let [cross, square] = [0, 0];
  for (let i = 0; i < n; i++) {
    cross += (values[i]! - mv) * (levels[i]! - ml);
    square += (values[i]! - mv) ** 2;
  }
  const slope = square > 0 ? cross / square : 0;
  const offset = ml - slope * mv;
  const error = mean(values.map((value, i) => Math.abs(slope * value + offset - levels[i]!)));
  return error <= TOLERANCE ? { slope, offset } : null;
}

function lineOf(photo: Photo, plane: Plane, k: number): Line | null {
  const small = shrink(plane, photo.rows, photo.columns);
  if (small.rows !== photo.rows || small.columns !== photo.columns) return null;
  const bytes = bytesOf(photo.codes);
  const [values, levels]: [number[], number[]] = [[], []];
  for (let i = 0; i < photo.rows * photo.columns; i++) {
    const [value, level] = [valueAt(small, 0, i), bytes[i * 3 + k]!];
    if (!Number.isFinite(value) || level < LEAST || level > MOST) continue;
    values.push(value);
    levels.push(level);
  }
  return fitLine(values, levels);
}

const memo = new WeakMap<Plane, PhotoPixels | null>();

/** The photo from the exact values of its channels (one, or red, green and blue); null where they do not explain it. */
export function sharpPhoto(photo: Photo, channels: readonly Plane[]): PhotoPixels | null {
  const first = channels[0];
  if (!first) return null;
  const before = memo.get(first);
  if (before !== undefined) return before;
  const made = makePhoto(photo, channels);
  memo.set(first, made);
  return made;
}

function makePhoto(photo: Photo, channels: readonly Plane[]): PhotoPixels | null {
  const { rows, columns } = channels[0]!;
  const codes = new Uint8ClampedArray(rows * columns * 3);
  for (let k = 0; k < 3; k++) {
    const plane = channels[Math.min(k, channels.length - 1)]!;
    const line = lineOf(photo, plane, k);
    if (!line) return null;
    for (let i = 0; i < rows * columns; i++) codes[i * 3 + k] = line.slope * valueAt(plane, 0, i) + line.offset;
  }
  return { rows, columns, codes: new DataView(codes.buffer) };
}
