/** Zoom state: a point of the layout (u, v) is at (k·u + x, k·v + y) on the canvas, in CSS px. Arithmetic only. */

export interface Viewport {
  readonly k: number;
  readonly x: number;
  readonly y: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Rect extends Size {
  readonly x: number;
  readonly y: number;
}

export const rectAt = (x: number, y: number, width: number, height: number): Rect => ({ x, y, width, height });

export const IDENTITY: Viewport = { k: 1, x: 0, y: 0 };
export const MIN_K = 0.05;
/** A pixel of a 512 px map on the smallest card's tile is then still large enough for its number. */
export const MAX_K = 640;

export const clampK = (k: number): number => Math.min(MAX_K, Math.max(MIN_K, k));

/** The same picture, `factor` times larger, with the canvas point (px, py) staying where it is. */
export function zoomAt(view: Viewport, factor: number, px: number, py: number): Viewport {
  const k = clampK(view.k * factor);
  const grown = k / view.k;
  return { k, x: px - (px - view.x) * grown, y: py - (py - view.y) * grown };
}

export const panBy = (view: Viewport, dx: number, dy: number): Viewport => ({
  ...view,
  x: view.x + dx,
  y: view.y + dy,
});

export const toScreen = (view: Viewport, r: Rect): Rect => ({
  x: view.k * r.x + view.x,
  y: view.k * r.y + view.y,
  width: view.k * r.width,
  height: view.k * r.height,
});

export const toLayout = (view: Viewport, px: number, py: number): readonly [number, number] => [
  (px - view.x) / view.k,
  (py - view.y) / view.k,
];

export const overlaps = (a: Rect, b: Rect): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** Centred across, from the top: a trunk starts at the first row even when not all rows fit. */
export function centred(content: Size, canvas: Size, k: number): Viewport {
  const x = Math.max(0, (canvas.width - content.width * k) / 2);
  const y = Math.max(0, (canvas.height - content.height * k) / 2);
  return { k, x, y };
}

/** At least this much of the content stays on the canvas, so that it cannot be lost by a fling. */
const KEPT_PX = 48;

export function keepInView(view: Viewport, content: Size, canvas: Size): Viewport {
  const within = (offset: number, length: number, room: number): number =>
    Math.min(room - KEPT_PX, Math.max(KEPT_PX - length, offset));
  return {
    k: view.k,
    x: within(view.x, content.width * view.k, canvas.width),
    y: within(view.y, content.height * view.k, canvas.height),
  };
}

/** Moves as little as possible until `target` (layout units) is on the canvas with `margin` px around it. */
export function reveal(view: Viewport, target: Rect, canvas: Size, margin: number): Viewport {
  const at = toScreen(view, target);
  const shift = (start: number, length: number, room: number): number => {
    if (start < margin || length > room - 2 * margin) return margin - start;
    return Math.min(0, room - margin - (start + length));
  };
  const needX = at.x < margin || at.x + at.width > canvas.width - margin;
  const needY = at.y < margin || at.y + at.height > canvas.height - margin;
  return panBy(
    view,
    needX ? shift(at.x, at.width, canvas.width) : 0,
    needY ? shift(at.y, at.height, canvas.height) : 0,
  );
}

export type Level = "far" | "middle" | "near";

const FAR_BELOW = 0.45;
const NEAR_ABOVE = 1.6;
/** A level is left 10 % beyond the zoom at which it was entered, so that it does not flicker at the border. */
const HYSTERESIS = 0.1;

export function levelAt(k: number, before: Level): Level {
  if (k < FAR_BELOW * (before === "far" ? 1 + HYSTERESIS : 1)) return "far";
  if (k > NEAR_ABOVE * (before === "near" ? 1 - HYSTERESIS : 1)) return "near";
  return "middle";
}
