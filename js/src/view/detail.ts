/** Which tile a slice on screen calls for, and what a tile gives for it. */
import type { Interest, Tile } from "../interest";
import { held } from "../lists";
import type { TileRequest } from "../protocol";
import { requestFor, type WidgetState } from "../state";
import { type Plane, planeOfValues } from "./canvas";
import type { Slot } from "./draw/slots";

/** Planes up to this many elements are fetched whole: 4 MiB of float32, a fifth of a second on a slow wire. */
const WHOLE_UP_TO = 2 ** 20;
/** Side of the window that is fetched of a larger plane; windows lie on a grid of half their side. */
const WINDOW = 512;

interface Place {
  readonly widget: WidgetState;
  readonly stage: string;
  readonly leaf: string;
}

const part = (slot: Slot) => ({ channel: slot.channel, slice: slot.slice });

/** All values of the slice, pooled only where there are too many to fetch. */
export function wholeRequest({ widget, stage, leaf }: Place, slot: Slot): TileRequest {
  const [rows, columns] = slot.full;
  const shrink = Math.sqrt(WHOLE_UP_TO / (rows * columns));
  const size: TileRequest["size"] =
    shrink >= 1 ? null : [Math.max(1, Math.floor(rows * shrink)), Math.max(1, Math.floor(columns * shrink))];
  return requestFor(widget, stage, leaf, { ...part(slot), size });
}

/** Enough values for `pixels` device pixels along the longer side, in steps of two so that zooming asks seldom. */
export function sharpRequest(place: Place, slot: Slot, pixels: number): TileRequest {
  const [rows, columns] = slot.full;
  const longer = Math.max(rows, columns);
  const step = 2 ** Math.ceil(Math.log2(Math.max(16, pixels)));
  if (step >= longer) return wholeRequest(place, slot);
  const size = [
    Math.max(1, Math.ceil((rows * step) / longer)),
    Math.max(1, Math.ceil((columns * step) / longer)),
  ] as const;
  if (size[0] * size[1] > WHOLE_UP_TO) return wholeRequest(place, slot);
  return requestFor(place.widget, place.stage, place.leaf, { ...part(slot), size });
}

/** The exact values around one element: the whole slice, or a window of a large one. */
export function exactRequest(place: Place, slot: Slot, row: number, column: number): TileRequest {
  const [rows, columns] = slot.full;
  if (rows * columns <= WHOLE_UP_TO) return wholeRequest(place, slot);
  const start = (i: number, size: number): number =>
    Math.max(0, Math.min(size - WINDOW, (Math.floor(i / (WINDOW / 2)) - 0.5) * (WINDOW / 2)));
  const [top, left] = [Math.floor(start(row, rows)), Math.floor(start(column, columns))];
  const region = [top, left, Math.min(rows, top + WINDOW), Math.min(columns, left + WINDOW)] as const;
  return requestFor(place.widget, place.stage, place.leaf, { ...part(slot), region });
}

const planes = new WeakMap<Tile, Plane | null>();

/** A tile of the whole slice as a plane; a list of tokens takes the form of its patch grid. Null where it does not fit. */
export const planeOf = (tile: Tile, slot: Slot): Plane | null => held(planes, tile, () => makePlane(tile, slot));

function makePlane(tile: Tile, slot: Slot): Plane | null {
  const [rows, columns] = slot.full;
  const count = tile.rows * tile.columns;
  const listed = count === rows * columns + slot.skip && (tile.rows === 1 || tile.columns === 1);
  if (tile.error || count === 0) return null;
  return listed
    ? planeOfValues(rows, columns, tile.values.subarray(slot.skip), tile.exact)
    : planeOfValues(tile.rows, tile.columns, tile.values, tile.exact);
}

/** The best values there are for a slice: the finest tile that has come, else the overview's. */
export function bestPlane(place: Place, slot: Slot, interest: Interest): Plane | null {
  const tile = interest.nearest(wholeRequest(place, slot));
  const plane = tile ? planeOf(tile, slot) : null;
  if (!plane || !slot.plane) return plane ?? slot.plane;
  const finer = plane.rows * plane.columns >= slot.plane.rows * slot.plane.columns;
  return plane.exact || finer ? plane : slot.plane;
}
