/** The picture of an activation on a card, by kind. */
import type { ColourTable, Scale } from "../../colour";
import { brief, precise } from "../../format";
import type { CardSize } from "../../layout/types";
import type { Options, Picture, Summary } from "../../protocol";
import type { Level } from "../../viewport";
import { bitmapOf, bitmapUrl, type Plane, photoBitmap, valueAt } from "../canvas";
import { type Child, svg } from "../dom";
import type { Image, ImagePool } from "./images";
import { classBars, hatch, oneHot, sentence, vectorBars, wordColumns } from "./marks";
import * as plan from "./plan";
import { folded, mapSlots, mapsOf, type Slot, volumeSlots, wholeSlot } from "./slots";
import { label, type Measure } from "./text";

export interface PictureStyle {
  readonly card: CardSize;
  readonly level: Level;
  /** Picture box; the drawing's origin is its upper left corner. */
  readonly box: plan.Box;
  readonly order: Options["channel_order"];
  readonly table: ColourTable;
  /** Device pixels per unit of the box. */
  readonly density: number;
  readonly measure: Measure;
  readonly images: ImagePool;
  /** The best values there are for a slice, or null. */
  planeFor(slot: Slot): Plane | null;
  scaleFor(plane: Plane): Scale;
}

/** A slice and where it lies in the picture box. */
export interface Placed extends plan.Cell {
  readonly slot: Slot;
  /** Columns of a folded vector; 0 for a slice that lies as it is. */
  readonly folded: number;
}

export interface Drawing {
  readonly element: SVGGElement;
  readonly placed: readonly Placed[];
}

const urls = new WeakMap<Plane, { key: string; url: string }>();
/** Screen pixels per value up to which pictures are smoothed. */
const SMOOTH_UP_TO = 1.5;

const imageOf = (plane: Plane, cell: plan.Cell, style: PictureStyle): Image => ({
  url: planeUrl(plane, cell, style),
  exact: plane.exact,
  smooth: (cell.width * style.density) / plane.columns < SMOOTH_UP_TO,
});

function planeUrl(plane: Plane, cell: plan.Cell, style: PictureStyle): string {
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

const frame = ({ x, y, width, height }: plan.Cell, inset = -0.5): SVGRectElement =>
  svg("rect", {
    class: "nf-frame",
    x: x + inset,
    y: y + inset,
    width: Math.max(0, width - 2 * inset),
    height: Math.max(0, height - 2 * inset),
  });

function tile(name: string, slot: Slot, cell: plan.Cell, style: PictureStyle): SVGElement {
  const plane = style.planeFor(slot);
  if (plane === null) return hatch(cell.x, cell.y, cell.width, cell.height, true);
  return style.images.show(name, cell, imageOf(plane, cell, style));
}

const placedAt = (slot: Slot, cell: plan.Cell): Placed => ({ ...cell, slot, folded: 0 });

function drawMaps(summary: Summary, style: PictureStyle): Drawing {
  const { full, channels } = mapsOf(summary);
  const layout = plan.mosaic({ channels, rows: full[0], columns: full[1] }, style.card, style.level, style.box);
  const slots = mapSlots(summary, style.order, layout.cells.length + layout.sheets.length);
  const front = layout.cells.flatMap((cell, i) => (slots[i] === undefined ? [] : [placedAt(slots[i], cell)]));
  const behind = slots.slice(front.length).filter((slot) => style.planeFor(slot) !== null);
  const children: Child[] = layout.sheets.flatMap((cell, i) => {
    // The sheet next to the front is the next in rank.
    const slot = behind[(layout.sheets.length - 1 - i) % Math.max(1, behind.length)];
    return slot === undefined ? [] : [tile(`sheet ${i}`, slot, cell, style), frame(cell, 0.5)];
  });
  children.push(svg("rect", { class: "nf-paper", ...rectOf(layout) }));
  children.push(...front.map((placed, i) => tile(`map ${i}`, placed.slot, placed, style)), frame(layout));
  return { element: svg("g", {}, ...children), placed: front };
}

const rectOf = ({ x, y, width, height }: plan.Cell) => ({ x, y, width, height });

const photoImage = (picture: Extract<Picture, { kind: "photo" }>, cell: plan.Cell, style: PictureStyle): Image => ({
  url: bitmapUrl(photoBitmap(picture, { width: cell.width, height: cell.height, ratio: style.density })),
  exact: false,
  smooth: (cell.width * style.density) / picture.columns < 2 * SMOOTH_UP_TO,
});

function drawPhoto(picture: Extract<Picture, { kind: "photo" }>, style: PictureStyle): Drawing {
  const cell = plan.single(picture.rows, picture.columns, photoSide(style), style.box);
  const image = style.images.show("photo", cell, photoImage(picture, cell, style));
  const slot: Slot = { channel: 0, slice: null, full: picture.size, skip: 0, part: "", plane: null };
  return { element: svg("g", {}, image, frame(cell)), placed: [placedAt(slot, cell)] };
}

const photoSide = (style: PictureStyle): number =>
  style.level === "near" ? Number.POSITIVE_INFINITY : plan.PHOTO_SIZE[style.card];

const ONE_HOT_UP_TO = 10;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function cells(slot: Slot, values: readonly number[], { box }: PictureStyle): Drawing {
  const step = box.width / values.length;
  const place = { x: 0, y: box.height / 2 - step, width: box.width, height: 2 * step };
  return { element: oneHot(values, box.width, box.height), placed: [placedAt(slot, place)] };
}

/** All values of a plane of one row. */
const valuesOf = (plane: Plane): number[] =>
  Array.from({ length: plane.columns * plane.rows }, (_, i) => valueAt(plane, 0, i));

function drawVector(picture: Extract<Picture, { kind: "vector" }>, style: PictureStyle): Drawing {
  const slot = wholeSlot(picture);
  const plane = style.planeFor(slot) ?? slot.plane!;
  const length = plane.rows * plane.columns;
  if (length <= plan.BARS_UP_TO) {
    const values = valuesOf(plane);
    if (length <= ONE_HOT_UP_TO && values.every((value) => value === 0 || value === 1) && sum(values) === 1)
      return cells(slot, values, style);
    const height = Math.min(48, style.box.height);
    const y = (style.box.height - height) / 2;
    const width = Math.min(14 * length, style.box.width);
    const bars = vectorBars(values, style.box.width, height);
    const moved = svg("g", { transform: `translate(0 ${y})`, "data-exact": plane.exact }, bars);
    return { element: svg("g", {}, moved), placed: [placedAt(slot, { x: 0, y, width, height })] };
  }
  const near = style.level === "near";
  const room = near ? style.box : plan.BARCODE_SIZE[style.card];
  const [rows, columns] = plan.fold(length, room);
  const cell = plan.single(rows, columns, Math.max(room.width, room.height), near ? style.box : limit(room, style.box));
  const image = style.images.show("vector", cell, imageOf(foldedOnce(plane, rows, columns), cell, style));
  return { element: svg("g", {}, image, frame(cell)), placed: [{ ...cell, slot, folded: columns }] };
}

/** As wide as `room`, as high as the box, so that single() keeps the wanted width but centres in the whole box. */
const limit = (room: plan.Box, box: plan.Box): plan.Box => ({
  width: Math.min(room.width, box.width),
  height: box.height,
});

const folds = new WeakMap<Plane, Plane>();

function foldedOnce(plane: Plane, rows: number, columns: number): Plane {
  const before = folds.get(plane);
  if (before?.columns === columns && before.rows === rows) return before;
  const made = folded(plane, rows, columns);
  folds.set(plane, made);
  return made;
}

function drawTokens(summary: Summary, picture: Extract<Picture, { kind: "tokens" }>, style: PictureStyle): Drawing {
  if (picture.maps !== null && picture.grid !== null) return drawMaps(summary, style);
  const [tokens, features] = picture.size;
  const { width, height } = style.box;
  if (picture.labels.length > 0 && features <= 1)
    return { element: wordColumns(picture.labels, width, height, style.measure), placed: [] };
  const slot = wholeSlot(picture);
  // One row per token, but no row higher than a line of text.
  const high = Math.min(height - 8, tokens * 14);
  const cell = { x: 0, y: (height - high) / 2, width, height: high };
  return { element: svg("g", {}, tile("tokens", slot, cell, style), frame(cell)), placed: [placedAt(slot, cell)] };
}

function drawVolume(picture: Extract<Picture, { kind: "volume" }>, style: PictureStyle): Drawing {
  const slots = volumeSlots(picture);
  const cells = plan.volumeCells(
    slots.map(({ full: [rows, columns] }) => ({ rows, columns })),
    style.box,
  );
  const placed = slots.map((slot, i) => placedAt(slot, cells[i]!));
  const children = placed.flatMap((each, i) => [tile(`slice ${i}`, each.slot, each, style), frame(each)]);
  return { element: svg("g", {}, ...children), placed };
}

function drawWords(text: string, style: PictureStyle): Drawing {
  const side = Math.min(style.box.width, style.box.height - 8);
  const box = { x: 0, y: (style.box.height - side) / 2, width: side, height: side };
  const words = sentence(text, box, style.measure);
  return { element: svg("g", {}, hatch(box.x, box.y, side, side, true), words), placed: [] };
}

/** One tile that stands for the whole activation, or null where none can. */
export function drawTile(summary: Summary, cell: plan.Cell, style: PictureStyle): SVGElement | null {
  const { picture } = summary;
  if (picture.kind === "photo") return style.images.show("far", cell, photoImage(picture, cell, style));
  if (picture.kind === "vector") {
    const plane = style.planeFor(wholeSlot(picture))!;
    const square = foldedOnce(plane, ...plan.fold(plane.rows * plane.columns, cell));
    return style.images.show("far", cell, imageOf(square, cell, style));
  }
  const slots = picture.kind === "volume" ? volumeSlots(picture) : mapSlots(summary, style.order, 1);
  const slot = slots[0] ?? (picture.kind === "tokens" ? wholeSlot(picture) : undefined);
  return slot === undefined ? null : tile("far", slot, cell, style);
}

export function drawPicture(summary: Summary, style: PictureStyle): Drawing {
  const { picture } = summary;
  const { width, height } = style.box;
  switch (picture.kind) {
    case "maps":
      return drawMaps(summary, style);
    case "photo":
      return drawPhoto(picture, style);
    case "vector":
      return drawVector(picture, style);
    case "tokens":
      return drawTokens(summary, picture, style);
    case "volume":
      return drawVolume(picture, style);
    case "scalar": {
      const spellings = [picture.text, precise(picture.value)].filter((text) => text !== "");
      const fits = (text: string): boolean => style.measure(text, "code", 20, 600) <= width;
      const text = spellings.find(fits) ?? brief(picture.value);
      const number = label(0, height / 2 + 7, text, { class: "nf-scalar", "data-exact": true });
      return { element: svg("g", {}, number), placed: [] };
    }
    case "classes":
      return { element: classBars(picture, plan.CLASS_ROWS[style.card], width, height, style.measure), placed: [] };
    case "nothing":
      return drawWords(picture.reason, style);
    default:
      return picture satisfies never;
  }
}
