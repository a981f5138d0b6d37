/** Over the picture, in screen px: the crosshair, and near by the grid, rulers and numbers of single pixels. */

import { colourOf, inkOn } from "../colour";
import { brief, compactShape, px } from "../format";
import { held } from "../lists";
import { watch } from "../state";
import { overlaps, type Rect, toScreen } from "../viewport";
import { bitmapOf, bitmapUrl, type Plane, valueAt } from "./canvas";
import { type Child, DECORATION, setChildren, svg, svgPath, svgRect } from "./dom";
import { imageAt } from "./draw/images";
import { label, MONO, NAME } from "./draw/text";
import type { Placed } from "./draw/tiles";
import type { Aim, Pointing } from "./hover";
import { type Pane, type StagePicture, stageLabel } from "./pane";

const GRID_FROM_PX = 8;
const NUMBERS_FROM_PX = 44;
const RULERS_FROM_PX = 12;
/** Room that an index takes on a ruler. */
const RULER_STEP_PX = 22;
/** Strips of paper with the indices; the upper one names the slice too. */
const TOP_STRIP = 28;
const SIDE_STRIP = 22;
const MAP_PX = 120;

/** Index range [from, to). */
type Span = readonly [number, number];

/** A slice on screen. */
interface Shown {
  readonly stage: string;
  readonly placed: Placed;
  readonly rect: Rect;
  /** Size of one element, screen px. */
  readonly pixel: { readonly width: number; readonly height: number };
  readonly style: StagePicture["style"];
}

function shown(pane: Pane, stage: string, picture: StagePicture): Shown[] {
  const card = pane.cards().get(stage);
  const { k, x, y } = pane.view.viewport();
  if (!card) return [];
  const corner = { k, x: x + k * (card.x + picture.box.x), y: y + k * (card.y + picture.box.y) };
  return picture.placed.map((placed) => {
    const rect = toScreen(corner, placed);
    const [rows, columns] = placed.slot.full;
    const pixel = { width: rect.width / columns, height: rect.height / rows };
    return { stage, placed, rect, pixel, style: picture.style };
  });
}

/** Index range [from, to) of the elements along one axis that are on the canvas. */
function window(start: number, step: number, count: number, room: number): Span {
  return [Math.max(0, Math.floor(-start / step)), Math.min(count, Math.ceil((room - start) / step))];
}

function grid({ rect, pixel }: Shown, rows: Span, columns: Span): Child {
  const left = rect.x + columns[0] * pixel.width;
  const top = rect.y + rows[0] * pixel.height;
  const width = (columns[1] - columns[0]) * pixel.width;
  const height = (rows[1] - rows[0]) * pixel.height;
  let d = "";
  for (let r = rows[0]; r <= rows[1]; r++) d += px`M${left} ${rect.y + r * pixel.height}h${width}`;
  for (let c = columns[0]; c <= columns[1]; c++) d += px`M${rect.x + c * pixel.width} ${top}v${height}`;
  return svgPath("grid", d);
}

/** Indices along the upper and left edge of what can be seen of a slice, on strips of paper, and its name. */
function rulers(each: Shown, rows: Span, columns: Span, canvas: Rect): Child[] {
  const { rect, pixel, placed } = each;
  const [top, left] = [Math.max(rect.y, 0), Math.max(rect.x, 0)];
  const [right, bottom] = [Math.min(rect.x + rect.width, canvas.width), Math.min(rect.y + rect.height, canvas.height)];
  if (right - left < 2 * SIDE_STRIP || bottom - top < 2 * TOP_STRIP) return [];
  const small = Math.min(pixel.width, pixel.height) < RULERS_FROM_PX;
  if (small) return [label(left + 4, top + 13, placed.slot.part, "ruler")];
  const every = (size: number): number => Math.ceil(RULER_STEP_PX / size);
  const [down, across] = [every(pixel.height), every(pixel.width)];
  const indices: Child[] = [];
  const middle = "index middle";
  for (let c = columns[0]; c < columns[1]; c++) {
    const x = rect.x + (c + 0.5) * pixel.width;
    if (c % across === 0 && x > left + SIDE_STRIP + 4) indices.push(label(x, top + 24, c, middle));
  }
  for (let r = rows[0]; r < rows[1]; r++) {
    const y = rect.y + (r + 0.5) * pixel.height;
    if (r % down === 0 && y > top + TOP_STRIP + 4) indices.push(label(left + SIDE_STRIP / 2, y + 3.5, r, middle));
  }
  return [
    svgRect("strip", left, top, right - left, TOP_STRIP),
    svgRect("strip", left, top + TOP_STRIP, SIDE_STRIP, bottom - top - TOP_STRIP),
    ...indices,
    label(left + 6, top + 11, placed.slot.part, "ruler"),
  ];
}

function numbers(each: Shown, plane: Plane, rows: Span, columns: Span): Child[] {
  const { rect, pixel, style } = each;
  const scale = style.scaleFor(plane);
  const out: Child[] = [];
  for (let r = rows[0]; r < rows[1]; r++)
    for (let c = columns[0]; c < columns[1]; c++) {
      const value = valueAt(plane, r, c);
      const fill = inkOn(colourOf(value, scale, style.table));
      const [x, y] = [rect.x + (c + 0.5) * pixel.width, rect.y + (r + 0.5) * pixel.height + 4];
      out.push(label(x, y, (plane.exact ? "" : "≈") + brief(value), "number middle", { style: `fill: ${fill}` }));
    }
  return out;
}

function detail(each: Shown, canvas: Rect): Child[] {
  const { rect, pixel, placed, style } = each;
  const least = Math.min(pixel.width, pixel.height);
  if (least < GRID_FROM_PX || placed.folded > 0 || !overlaps(rect, canvas)) return [];
  const [rowCount, columnCount] = placed.slot.full;
  const rows = window(rect.y, pixel.height, rowCount, canvas.height);
  const columns = window(rect.x, pixel.width, columnCount, canvas.width);
  const plane = style.planeFor(placed.slot);
  const whole = plane?.rows === rowCount && plane.columns === columnCount;
  return [
    grid(each, rows, columns),
    ...(least >= NUMBERS_FROM_PX && whole ? numbers(each, plane, rows, columns) : []),
    ...rulers(each, rows, columns, canvas),
  ];
}

const smallUrls = new WeakMap<Plane, string>();

/** Where you are: the whole picture of the stage with what can be seen of it framed. */
function miniature(pane: Pane, all: readonly Shown[], canvas: Rect): Child {
  const { stage, rect, placed } = all[0]!;
  const end = (of: (cell: Placed) => number): number => Math.max(...all.map((each) => of(each.placed)));
  const [left, top] = [-end((cell) => -cell.x), -end((cell) => -cell.y)];
  const box = { width: end((cell) => cell.x + cell.width) - left, height: end((cell) => cell.y + cell.height) - top };
  const k = MAP_PX / Math.max(box.width, box.height);
  const [width, height] = [box.width * k, box.height * k];
  const leaf = pane.index().stages.get(stage)?.leaves[0];
  const [name, shape] = [stageLabel(pane, stage), leaf ? compactShape(leaf.shape) : ""];
  const panel = Math.max(width, pane.measure(name, NAME) + 12 + pane.measure(shape, MONO));
  const [x, y] = [canvas.width - panel - 18, canvas.height - height - 18];
  const tiles = all.map(({ placed, style }) => {
    const plane = style.planeFor(placed.slot);
    if (!plane) return null;
    const size = { width: placed.width * k, height: placed.height * k };
    const href = held(smallUrls, plane, () =>
      bitmapUrl(bitmapOf(plane, { scale: style.scaleFor(plane), table: style.table, ...size, ratio: 2 })),
    );
    return imageAt({ x: x + (placed.x - left) * k, y: y + (placed.y - top) * k, ...size }, href);
  });
  // What can be seen, in the miniature's px.
  const shrink = (k * placed.width) / rect.width;
  const seen = (from: number, first: number, most: number) => (edge: number) =>
    Math.min(most, Math.max(0, (edge - from) * shrink + first * k));
  const across = seen(rect.x, placed.x - left, width);
  const down = seen(rect.y, placed.y - top, height);
  const [x0, y0] = [across(0), down(0)];
  return svg(
    "g.miniature",
    svgRect("raised", x - 8, y - 24, panel + 16, height + 32, { rx: 5 }),
    label(x, y - 8, name, "name"),
    label(x + panel, y - 8, shape, "range end"),
    ...tiles,
    svgRect("window", x + x0, y + y0, across(canvas.width) - x0, down(canvas.height) - y0),
  );
}

const spatial = ({ placed }: Aim | Shown): boolean =>
  placed.folded === 0 && placed.slot.full[0] > 1 && placed.slot.full[1] > 1;

function cross(rect: Rect, x: number, y: number): Child[] {
  const d = `M${rect.x} ${y}h${rect.width}M${x} ${rect.y}v${rect.height}`;
  return [svgPath("cross-paper", d), svgPath("cross", d)];
}

/** Lines through what the pointer is on, in its own slice and at the same place of the picture that went in. */
function crosshair(pane: Pane, aim: Aim): Child[] {
  const here = pane.pictures.get(aim.stage);
  if (!here || !spatial(aim)) return [];
  const [rows, columns] = aim.placed.slot.full;
  const v = (Math.floor(aim.v * rows) + 0.5) / rows;
  const u = (Math.floor(aim.u * columns) + 0.5) / columns;
  const draw = ({ rect }: Shown): Child[] => cross(rect, rect.x + u * rect.width, rect.y + v * rect.height);
  const own = shown(pane, aim.stage, here).filter(({ placed }) => placed.slot.part === aim.placed.slot.part);
  const input = pane.widget.graph()?.stages.find((stage) => stage.kind === "input" && stage.id !== aim.stage);
  const picture = input ? pane.pictures.get(input.id) : undefined;
  const there = picture ? shown(pane, input!.id, picture).filter(spatial) : [];
  return [...own, ...there].flatMap(draw);
}

export function createPixels(pane: Pane, pointing: Pointing, end: AbortSignal): SVGGElement {
  const pixels = svg("g");
  const cursor = svg("g");
  watch(end, () => {
    if (pane.view.level() !== "near") return setChildren(pixels, []);
    pane.repainted();
    const canvas = { x: 0, y: 0, ...pane.view.size() };
    const all = [...pane.visible()].flatMap((id) => {
      const picture = pane.pictures.get(id);
      return picture ? [shown(pane, id, picture)] : [];
    });
    const children = all.flat().flatMap((each) => detail(each, canvas));
    const deep = all.find((each) =>
      each.some(({ pixel, rect }) => pixel.width >= NUMBERS_FROM_PX && overlaps(rect, canvas)),
    );
    if (deep) children.push(miniature(pane, deep, canvas));
    setChildren(pixels, children);
  });
  watch(end, () => {
    const aim = pointing.aim();
    pane.repainted();
    const children = !aim || pane.view.level() === "far" ? [] : crosshair(pane, aim);
    setChildren(cursor, children);
  });
  return svg("g.overlay", DECORATION, pixels, cursor);
}
