/** The picture of an activation on a card, by kind. */
import { brief, precise } from "../../format";
import type { Picture, Summary } from "../../protocol";
import { rectAt } from "../../viewport";
import { bitmapUrl, type Plane, photoBitmap } from "../canvas";
import { svgRect } from "../dom";
import type { Image } from "./images";
import { classBars, hatch, sentence, wordColumns } from "./marks";
import { drawOverlay, isOverlay, overlayImage } from "./overlay";
import * as plan from "./plan";
import { sharpPhoto } from "./sharpen";
import { mapSlots, mapsOf, photoSlots, slotOf, volumeSlots, wholeSlot } from "./slots";
import { label } from "./text";
import { type Drawing, drawing, frame, imageOf, type PictureStyle, placedAt, SMOOTH_UP_TO, tile } from "./tiles";
import { drawVector, foldedOnce } from "./vector";

type PhotoPicture = Extract<Picture, { kind: "photo" }>;

function drawMaps(summary: Summary, style: PictureStyle): Drawing {
  const { full, channels } = mapsOf(summary);
  const layout = plan.mosaic({ channels, rows: full[0], columns: full[1] }, style.card, style.level, style.box);
  const slots = mapSlots(summary, style.order, layout.cells.length + layout.sheets.length);
  const front = layout.cells.flatMap((cell, i) => (slots[i] ? [placedAt(slots[i], cell)] : []));
  const behind = slots.slice(front.length).filter(style.planeFor);
  const children = layout.sheets.flatMap((cell, i) => {
    // The sheet next to the front is the next in rank.
    const slot = behind[(layout.sheets.length - 1 - i) % Math.max(1, behind.length)];
    return slot ? [tile(`sheet ${i}`, slot, cell, style), frame(cell, 0.5)] : [];
  });
  const { x, y, width, height } = layout;
  const tiles = front.map((placed, i) => tile(`map ${i}`, placed.slot, placed, style));
  return drawing(front, ...children, svgRect("paper", x, y, width, height), ...tiles, frame(layout));
}

function photoImage(summary: Summary, picture: PhotoPicture, cell: plan.Cell, style: PictureStyle): Image {
  const planes = photoSlots(summary, picture).map((slot) => style.planeFor(slot));
  const known = planes.filter((plane) => plane?.exact) as Plane[];
  const sharp = known.length === planes.length ? sharpPhoto(picture, known) : null;
  const pixels = sharp ?? picture;
  return {
    url: bitmapUrl(photoBitmap(pixels, { width: cell.width, height: cell.height, ratio: style.density })),
    exact: sharp !== null,
    smooth: (cell.width * style.density) / pixels.columns < 2 * SMOOTH_UP_TO,
  };
}

function drawPhoto(summary: Summary, picture: PhotoPicture, style: PictureStyle): Drawing {
  const cell = plan.single(picture.rows, picture.columns, photoSide(style), style.box);
  const image = style.images.show("photo", cell, photoImage(summary, picture, cell, style));
  return drawing([placedAt(slotOf(picture.size), cell)], image, frame(cell));
}

const photoSide = (style: PictureStyle): number =>
  style.level === "near" ? Number.POSITIVE_INFINITY : plan.PHOTO_SIZE[style.card];

function drawTokens(summary: Summary, picture: Extract<Picture, { kind: "tokens" }>, style: PictureStyle): Drawing {
  if (picture.maps && picture.grid) return drawMaps(summary, style);
  const [tokens, features] = picture.size;
  const { width, height } = style.box;
  if (picture.labels.length && features <= 1)
    return drawing([], wordColumns(picture.labels, width, height, style.measure));
  const slot = wholeSlot(picture);
  // One row per token, but no row higher than a line of text.
  const high = Math.min(height - 8, tokens * 14);
  const cell = rectAt(0, (height - high) / 2, width, high);
  return drawing([placedAt(slot, cell)], tile("tokens", slot, cell, style), frame(cell));
}

function drawVolume(picture: Extract<Picture, { kind: "volume" }>, style: PictureStyle): Drawing {
  const slots = volumeSlots(picture);
  const cells = plan.volumeCells(
    slots.map(({ full: [rows, columns] }) => ({ rows, columns })),
    style.box,
  );
  const placed = slots.map((slot, i) => placedAt(slot, cells[i]!));
  const children = placed.flatMap((each, i) => [tile(`slice ${i}`, each.slot, each, style), frame(each)]);
  return drawing(placed, ...children);
}

function drawWords(text: string, style: PictureStyle): Drawing {
  const side = Math.min(style.box.width, style.box.height - 8);
  const box = rectAt(0, (style.box.height - side) / 2, side, side);
  const words = sentence(text, box, style.measure);
  return drawing([], hatch(box.x, box.y, side, side, true), words);
}

/** One tile that stands for the whole activation, or null where none can. */
export function drawTile(summary: Summary, cell: plan.Cell, style: PictureStyle): SVGElement | null {
  const { picture } = summary;
  if (picture.kind === "photo") return style.images.show("far", cell, photoImage(summary, picture, cell, style));
  if (isOverlay(picture)) {
    const image = overlayImage(picture, style);
    return image && style.images.show("far", cell, image);
  }
  if (picture.kind === "vector") {
    const plane = style.planeFor(wholeSlot(picture))!;
    const square = foldedOnce(plane, ...plan.fold(plane.rows * plane.columns, cell));
    return style.images.show("far", cell, imageOf(square, cell, style));
  }
  const slots = picture.kind === "volume" ? volumeSlots(picture) : mapSlots(summary, style.order, 1);
  const slot = slots[0] ?? (picture.kind === "tokens" ? wholeSlot(picture) : undefined);
  return slot ? tile("far", slot, cell, style) : null;
}

export function drawPicture(summary: Summary, style: PictureStyle): Drawing {
  const { picture } = summary;
  const { width, height } = style.box;
  switch (picture.kind) {
    case "maps":
      return drawMaps(summary, style);
    case "photo":
      return drawPhoto(summary, picture, style);
    case "vector":
      return drawVector(picture, style);
    case "tokens":
      return drawTokens(summary, picture, style);
    case "volume":
      return drawVolume(picture, style);
    case "scalar": {
      const spellings = [picture.text, precise(picture.value)].filter((text) => text !== "");
      const fits = (text: string): boolean => style.measure(text, "600 20px code") <= width;
      const text = spellings.find(fits) ?? brief(picture.value);
      const number = label(0, height / 2 + 7, text, "scalar", { "data-exact": true });
      return drawing([], number);
    }
    case "classes":
      return drawing([], classBars(picture, plan.CLASS_ROWS[style.card], width, height, style.measure));
    case "mask":
    case "boxes":
      return drawOverlay(picture, style);
    case "nothing":
      return drawWords(picture.reason, style);
  }
}
