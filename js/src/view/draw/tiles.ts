/** What the pictures of all kinds are made of: slices in cells, as images. */
import type { ColourTable, Scale } from "../../colour";
import type { CardSize } from "../../layout/types";
import type { Options, Picture } from "../../protocol";
import type { Level } from "../../viewport";
import { bitmapOf, bitmapUrl, type Plane } from "../canvas";
import { type Child, svg, svgRect } from "../dom";
import type { Image, ImagePool } from "./images";
import { hatch } from "./marks";
import type { Box, Cell } from "./plan";
import type { Slot } from "./slots";
import type { Measure } from "./text";

export interface PictureStyle {
  readonly card: CardSize;
  readonly level: Level;
  /** Picture box; the drawing's origin is its upper left corner. */
  readonly box: Box;
  readonly order: Options["channel_order"];
  readonly table: ColourTable;
  /** Device pixels per unit of the box. */
  readonly density: number;
  readonly measure: Measure;
  readonly images: ImagePool;
  /** The photo that the input at this path is shown as, or null. */
  photoOf(path: string): Extract<Picture, { kind: "photo" }> | null;
  /** The best values there are for a slice, or null. */
  planeFor(slot: Slot): Plane | null;
  scaleFor(plane: Plane): Scale;
}

/** A slice and where it lies in the picture box. */
export interface Placed extends Cell {
  readonly slot: Slot;
  /** Columns of a folded vector; 0 for a slice that lies as it is. */
  readonly folded: number;
}

export interface Drawing {
  readonly element: SVGGElement;
  readonly placed: readonly Placed[];
}

export const drawing = (placed: readonly Placed[], ...children: readonly Child[]): Drawing => ({
  element: svg("g", ...children),
  placed,
});

const urls = new WeakMap<Plane, { key: string; url: string }>();
/** Screen pixels per value up to which pictures are smoothed. */
export const SMOOTH_UP_TO = 1.5;

export const imageOf = (plane: Plane, cell: Cell, style: PictureStyle): Image => ({
  url: planeUrl(plane, cell, style),
  exact: plane.exact,
  smooth: (cell.width * style.density) / plane.columns < SMOOTH_UP_TO,
});

function planeUrl(plane: Plane, cell: Cell, style: PictureStyle): string {
  const scale = style.scaleFor(plane);
  const { table, density } = style;
  // A bitmap of all values is the same at every zoom from there on.
  const [width, height] = [Math.min(plane.columns, cell.width * density), Math.min(plane.rows, cell.height * density)];
  const key = [table.theme, scale.zero, scale.limit, Math.round(width), Math.round(height)].join("/");
  const before = urls.get(plane);
  if (before?.key === key) return before.url;
  const url = bitmapUrl(bitmapOf(plane, { scale, table, width: cell.width, height: cell.height, ratio: density }));
  urls.set(plane, { key, url });
  return url;
}

export const frame = ({ x, y, width, height }: Cell, inset = -0.5): SVGRectElement =>
  svgRect("frame", x + inset, y + inset, Math.max(0, width - 2 * inset), Math.max(0, height - 2 * inset));

export function tile(name: string, slot: Slot, cell: Cell, style: PictureStyle): SVGElement {
  const plane = style.planeFor(slot);
  if (!plane) return hatch(cell.x, cell.y, cell.width, cell.height, true);
  return style.images.show(name, cell, imageOf(plane, cell, style));
}

export const placedAt = (slot: Slot, cell: Cell): Placed => ({ ...cell, slot, folded: 0 });
