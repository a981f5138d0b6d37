/** The slices that a picture shows, with the values that are there for them. */
import { held, times } from "../../lists";
import type { Options, Picture, Summary } from "../../protocol";
import { bytesOf, int32sOf } from "../../wire";
import { mapPlanes, type Plane, planeOfCodes, planeOfValues, valueAt } from "../canvas";

/** One slice of a leaf, as a picture shows it. */
export interface Slot {
  /** Channel, head or feature; null for the whole plane. */
  readonly channel: number | null;
  /** [axis, index] into a volume. */
  readonly slice: readonly [number, number] | null;
  /** Rows and columns of the slice at full size. */
  readonly full: readonly [number, number];
  /** Leading entries of a 1-D answer that are not on the grid (special tokens). */
  readonly skip: number;
  /** "channel 21", "head 3", "feature 7", "" for a slice without siblings. */
  readonly part: string;
  /** Values from the overview; null where it holds none. */
  readonly plane: Plane | null;
}

/** A slice of this full size; all of the plane where nothing else is said. */
export const slotOf = (full: Slot["full"], rest: Partial<Slot> = {}): Slot => ({
  channel: null,
  slice: null,
  full,
  skip: 0,
  part: "",
  plane: null,
  ...rest,
});

const memo = new WeakMap<Picture, readonly Plane[]>();

/** Planes of a picture from its codes; made once, so that they can be told apart by identity. */
export const planesOf = (picture: Picture): readonly Plane[] => held(memo, picture, () => makePlanes(picture));

function makePlanes(picture: Picture): readonly Plane[] {
  switch (picture.kind) {
    case "maps":
      return mapPlanes(picture);
    case "vector":
      return [planeOfCodes(picture, 1, picture.length)];
    case "tokens": {
      const maps = picture.maps ? mapPlanes({ ...picture, ...picture.maps, kind: "maps" }) : [];
      return [planeOfCodes(picture, picture.rows, picture.columns), ...maps];
    }
    case "volume": {
      let start = 0;
      return picture.planes.map(({ rows, columns }) => {
        start += rows * columns;
        return planeOfCodes(picture, rows, columns, start - rows * columns);
      });
    }
    default:
      return [];
  }
}

/** Length of the axis that tells a leaf's maps apart. */
export function channelCount(summary: Summary): number {
  for (const name of ["channel", "head", "feature"]) {
    const at = summary.axes.indexOf(name);
    if (at >= 0) return summary.shape[at] ?? 1;
  }
  return summary.ranking?.count ?? (summary.picture.kind === "maps" ? summary.picture.channels.length : 1);
}

/** How many maps a picture can show, and their full size. */
export function mapsOf({ picture, ...rest }: Summary): { full: readonly [number, number]; channels: number } {
  if (picture.kind === "maps") return { full: picture.size, channels: channelCount({ picture, ...rest }) };
  if (picture.kind === "tokens" && picture.maps && picture.grid)
    return { full: picture.grid, channels: picture.maps.channels.length };
  return { full: [1, 1], channels: 0 };
}

/** Channels in the order to show them: those of the picture first, then by rank; or by index. */
export function channelOrder(
  channels: readonly number[],
  summary: Summary,
  order: Options["channel_order"],
  count: number,
): readonly number[] {
  const total = Math.max(channelCount(summary), channels.length);
  const wanted = Math.min(count, total);
  if (order === "index") return times(wanted, (i) => i);
  const seen = new Set(channels.slice(0, wanted));
  if (seen.size < wanted && summary.ranking)
    for (const channel of int32sOf(summary.ranking.order)) if (seen.size < wanted) seen.add(channel);
  for (let i = 0; seen.size < wanted && i < total; i++) seen.add(i);
  return [...seen];
}

/** Up to `count` maps of the picture, in the wanted order. */
export function mapSlots(summary: Summary, order: Options["channel_order"], count: number): readonly Slot[] {
  const { picture } = summary;
  if (picture.kind === "maps") {
    const planes = planesOf(picture);
    const word = summary.axes_kind === "attention" ? "head" : "channel";
    return channelOrder(picture.channels, summary, order, count).map((channel) => {
      const plane = planes[picture.channels.indexOf(channel)] ?? null;
      return slotOf(picture.size, { channel, part: `${word} ${channel}`, plane });
    });
  }
  if (picture.kind !== "tokens" || !picture.maps || !picture.grid) return [];
  const [, ...planes] = planesOf(picture);
  const { maps, grid, special: skip } = picture;
  return maps.channels
    .slice(0, count)
    .map((channel, i) => slotOf(grid, { channel, skip, part: `feature ${channel}`, plane: planes[i]! }));
}

/** The whole plane of tokens × features, or a vector as one row. */
export const wholeSlot = (picture: Extract<Picture, { kind: "tokens" | "vector" }>): Slot =>
  slotOf(picture.kind === "tokens" ? picture.size : [1, picture.size], { plane: planesOf(picture)[0]! });

export function volumeSlots(picture: Extract<Picture, { kind: "volume" }>): readonly Slot[] {
  const { channel } = picture;
  const planes = planesOf(picture);
  return picture.planes.map(({ axis, index }, i) => {
    const full = picture.size.filter((_, other) => other !== axis) as unknown as Slot["full"];
    const part = `channel ${channel} ${"zyx"[axis]}=${index}`;
    return slotOf(full, { channel, slice: [axis, index], part, plane: planes[i]! });
  });
}

/** The colour channels of a photo, or the grey one: what tiles of it hold; the photo itself has no values. */
export const photoSlots = (summary: Summary, { size }: Extract<Picture, { kind: "photo" }>): readonly Slot[] =>
  times(Math.min(3, channelCount(summary)), (channel) => slotOf(size, { channel, part: `channel ${channel}` }));

/** RGB bytes at a place given in fractions of height and width. */
export function photoAt(picture: Extract<Picture, { kind: "photo" }>, v: number, u: number): readonly number[] {
  const row = Math.min(picture.rows - 1, Math.floor(v * picture.rows));
  const column = Math.min(picture.columns - 1, Math.floor(u * picture.columns));
  const at = (row * picture.columns + column) * 3;
  return [...bytesOf(picture.codes).subarray(at, at + 3)];
}

/** A vector folded into rows; what is left over of the last row is zero, the paper. */
export function folded(plane: Plane, rows: number, columns: number): Plane {
  const values = new Float64Array(rows * columns);
  for (let i = 0; i < plane.rows * plane.columns; i++) values[i] = valueAt(plane, 0, i);
  return planeOfValues(rows, columns, values, plane.exact);
}
