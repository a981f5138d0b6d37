/** Vectors: bars, cells for a one-hot one, or a folded barcode. */
import { times } from "../../lists";
import type { Picture } from "../../protocol";
import { rectAt } from "../../viewport";
import { type Plane, valueAt } from "../canvas";
import { movedTo } from "../dom";
import { oneHot, vectorBars } from "./marks";
import * as plan from "./plan";
import { folded, type Slot, wholeSlot } from "./slots";
import { type Drawing, drawing, frame, imageOf, type PictureStyle, placedAt } from "./tiles";

const ONE_HOT_UP_TO = 10;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function cells(slot: Slot, values: readonly number[], { box }: PictureStyle): Drawing {
  const step = box.width / values.length;
  const place = rectAt(0, box.height / 2 - step, box.width, 2 * step);
  return drawing([placedAt(slot, place)], oneHot(values, box.width, box.height));
}

/** All values of a plane of one row. */
const valuesOf = (plane: Plane): number[] => times(plane.columns * plane.rows, (i) => valueAt(plane, 0, i));

export function drawVector(picture: Extract<Picture, { kind: "vector" }>, style: PictureStyle): Drawing {
  const slot = wholeSlot(picture);
  const plane = style.planeFor(slot) ?? slot.plane!;
  const length = plane.rows * plane.columns;
  if (length <= plan.BARS_UP_TO) {
    const values = valuesOf(plane);
    if (
      length > 1 &&
      length <= ONE_HOT_UP_TO &&
      values.every((value) => value === 0 || value === 1) &&
      sum(values) === 1
    )
      return cells(slot, values, style);
    const height = Math.min(48, style.box.height);
    const y = (style.box.height - height) / 2;
    const width = Math.min(14 * length, style.box.width);
    const bars = vectorBars(values, style.box.width, height);
    const moved = movedTo(0, y, { "data-exact": plane.exact }, bars);
    return drawing([placedAt(slot, rectAt(0, y, width, height))], moved);
  }
  const near = style.level === "near";
  const room = near ? style.box : plan.BARCODE_SIZE[style.card];
  const [rows, columns] = plan.fold(length, room);
  const cell = plan.single(rows, columns, Math.max(room.width, room.height), near ? style.box : limit(room, style.box));
  const image = style.images.show("vector", cell, imageOf(foldedOnce(plane, rows, columns), cell, style));
  return drawing([{ ...cell, slot, folded: columns }], image, frame(cell));
}

/** As wide as `room`, as high as the box, so that single() keeps the wanted width but centres in the whole box. */
const limit = (room: plan.Box, box: plan.Box): plan.Box => ({
  width: Math.min(room.width, box.width),
  height: box.height,
});

const folds = new WeakMap<Plane, Plane>();

export function foldedOnce(plane: Plane, rows: number, columns: number): Plane {
  const before = folds.get(plane);
  if (before?.columns === columns && before.rows === rows) return before;
  const made = folded(plane, rows, columns);
  folds.set(plane, made);
  return made;
}
