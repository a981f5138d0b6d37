/** What lies over an input: a class at each place, or boxes. Names and shares, or scores, stand below. */
import { cssColour, type Rgb } from "../../colour";
import { percent } from "../../format";
import type { Picture } from "../../protocol";
import { picturesOf, type WidgetState } from "../../state";
import { rectAt } from "../../viewport";
import { bytesOf } from "../../wire";
import { type Bitmap, bitmapUrl, blank, photoBitmap } from "../canvas";
import { svg, svgRect } from "../dom";
import type { Image } from "./images";
import * as plan from "./plan";
import { photoAt, slotOf } from "./slots";
import { fitText, label, MONO, SMALL } from "./text";
import { type Drawing, drawing, frame, type PictureStyle, placedAt } from "./tiles";

export type Overlay = Extract<Picture, { kind: "mask" | "boxes" }>;
export const isOverlay = (picture: Picture): picture is Overlay => ["mask", "boxes"].includes(picture.kind);
type Mask = Extract<Picture, { kind: "mask" }>;
type Photo = Extract<Picture, { kind: "photo" }>;
export type OverlayStyle = Pick<PictureStyle, "box" | "density" | "measure" | "images" | "table" | "photoOf">;

/** Share of the class's colour where a photo lies below. */
const COVER = 0.6;
export const LINE = 13;
/** Of the picture's height, at most, for the lines below. */
const LEGEND = 0.4;

/** Colours that lie apart for neighbouring numbers, in hue and in brightness. */
const classColour = (index: number): Rgb =>
  [0, 1, 2].map((k) =>
    Math.round((index % 2 ? 168 : 116) + 84 * Math.cos(Math.PI * 2 * (0.618 * index + k / 3))),
  ) as unknown as Rgb;

/** The picture of the input at this path, where it is a photo. */
export const photoAtPath =
  (widget: WidgetState) =>
  (path: string): Photo | null =>
    picturesOf(widget, "photo", (stage) => stage.kind === "input" && stage.path === path)[0] ?? null;

/** The class at a place given in fractions of height and width. */
export function classAt(mask: Mask, v: number, u: number): Mask["entries"][number] | undefined {
  const [row, column] = [Math.floor(v * mask.rows), Math.floor(u * mask.columns)];
  return mask.entries[bytesOf(mask.codes)[row * mask.columns + column]!];
}

function maskBitmap(mask: Mask, photo: Photo | null, paper: Rgb): Bitmap {
  const height = Math.max(mask.rows, photo?.rows ?? 0);
  const width = Math.max(mask.columns, photo?.columns ?? 0);
  const colours = new Map(mask.entries.map((entry) => [entry, classColour(entry.index)]));
  const bitmap = blank(width, height);
  for (let i = 0; i < width * height; i++) {
    const [v, u] = [(Math.floor(i / width) + 0.5) / height, ((i % width) + 0.5) / width];
    const entry = classAt(mask, v, u);
    const under = photo ? photoAt(photo, v, u) : paper;
    const colour = !entry || entry.index === mask.background ? under : colours.get(entry)!;
    const cover = photo ? COVER : 1;
    for (let k = 0; k < 3; k++) bitmap.rgba[i * 4 + k] = cover * colour[k]! + (1 - cover) * under[k]!;
  }
  return bitmap;
}

const urls = new WeakMap<Overlay, { readonly photo: Photo | null; readonly theme: string; readonly url: string }>();

/** The mask over its photo, or the photo that the boxes lie on; null where there is none. */
export function overlayImage(picture: Overlay, style: Omit<OverlayStyle, "box">): Image | null {
  const photo = style.photoOf(picture.over);
  const { theme, rgba } = style.table;
  const before = urls.get(picture);
  if (before?.photo === photo && before.theme === theme) return { url: before.url, exact: false, smooth: false };
  const middle = (rgba.length >> 3) * 4;
  const paper = [...rgba.subarray(middle, middle + 3)] as unknown as Rgb;
  const bitmap =
    picture.kind === "mask"
      ? maskBitmap(picture, photo, paper)
      : photo && photoBitmap(photo, { width: photo.columns, height: photo.rows, ratio: 1 });
  if (!bitmap) return null;
  const url = bitmapUrl(bitmap);
  urls.set(picture, { photo, theme, url });
  return { url, exact: false, smooth: false };
}

/** What the lines below say: colour, name, number. */
function linesOf(picture: Overlay): readonly (readonly [Rgb | null, string, string])[] {
  if (picture.kind === "mask")
    return picture.entries.map(({ index, name, value }) => [
      index === picture.background ? null : classColour(index),
      name,
      percent(value ?? 0),
    ]);
  return picture.entries.map(({ name, score }, i) => [
    classColour(i),
    name || `box ${i}`,
    score === null ? "" : percent(score),
  ]);
}

function legend(picture: Overlay, cell: plan.Cell, { measure }: OverlayStyle): SVGElement[] {
  const lines = linesOf(picture).slice(0, Math.floor(cell.height / LINE));
  return lines.flatMap(([colour, name, number], i) => {
    const y = cell.y + i * LINE;
    const room = cell.width - 20 - measure(number, MONO);
    const short = fitText(name, room, measure, SMALL);
    return [
      svgRect("swatch", 0.5, y + 2.5, 8, 8, { fill: colour && cssColour(colour) }),
      label(13, y + 10, short, "small"),
      label(cell.width, y + 10, number, "small mono end"),
    ];
  });
}

function rectangles(picture: Overlay, cell: plan.Cell): SVGElement[] {
  if (picture.kind === "mask") return [];
  // The best one is drawn last, on top.
  return [...picture.entries].reverse().flatMap(({ sides: [left, top, right, bottom] }, i) => {
    const box = {
      x: cell.x + left * cell.width,
      y: cell.y + top * cell.height,
      width: Math.max(0, right - left) * cell.width,
      height: Math.max(0, bottom - top) * cell.height,
      fill: "none",
    };
    const stroke = cssColour(classColour(picture.entries.length - 1 - i));
    return [svg("rect.box-paper", box), svg("rect.box", { ...box, stroke })];
  });
}

export function drawOverlay(picture: Overlay, style: OverlayStyle): Drawing {
  const { width, height } = style.box;
  const lines = Math.min(picture.entries.length, Math.floor((height * LEGEND) / LINE));
  const above = height - lines * LINE - (lines > 0 ? 3 : 0);
  const [rows, columns] = picture.size;
  const cell = plan.single(rows, columns, width, { width, height: above });
  const image = overlayImage(picture, style);
  const below = rectAt(0, cell.y + cell.height + 3, width, lines * LINE);
  return drawing(
    picture.kind === "mask" ? [placedAt(slotOf(picture.size), cell)] : [],
    image && style.images.show("over", cell, image),
    frame(cell),
    ...rectangles(picture, cell),
    ...legend(picture, below, style),
  );
}
