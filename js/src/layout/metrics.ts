/** Sizes of the drawing system, in CSS px at 100 %. */

import type { CardSize } from "./types";

export interface CardMetrics {
  readonly size: CardSize;
  readonly width: number;
  readonly height: number;
  /** From the top of the card to its ports: the middle of the picture box, which starts at 33. */
  readonly port: number;
}

export const CARDS: Readonly<Record<CardSize, CardMetrics>> = {
  small: { size: "small", width: 104, height: 174, port: 33 + 92 / 2 },
  large: { size: "large", width: 166, height: 234, port: 33 + 152 / 2 },
  compact: { size: "compact", width: 104, height: 132, port: 33 + 76 / 2 },
};

export const MARGIN = 14;
/** Least gutter between rows. */
export const GUTTER = 34;
/** Least and greatest gap between the columns of a row. */
export const GAP = 20;
export const GAP_MAX = 80;
export const CORNER = 8;
/** Between the top of a card and the first arc, and between nested arcs. */
export const ARC = 20;
export const ARC_STEP = 12;
/** Between parallel lines in the gap of two columns. */
export const TRACK_STEP = 8;
export const GROUP_PAD = 7;
export const GROUP_HEADER = 20;
/** Below this width there is one column, downwards. */
export const COLUMN_BELOW = 520;
/** From this width on "auto" takes large cards, unless their text of 11 would fall under 10. */
export const LARGE_FROM = 1100;
export const LARGE_SCALE = 0.9;
export const MAX_HEIGHT = 640;
export const SCALE_MAX = 1.25;
/** Smaller than this a stage is less than its far tile: then the canvas pans instead. */
export const SCALE_MIN = 0.28;
/** A scale between 1 and this one is not worth blurring pixels for. */
const SCALE_SNAP = 1.1;

/** Zoom that fits width × height into the canvas; only the width is always kept. */
export function scaleToFit(width: number, height: number, canvas: { width: number; height: number }): number {
  const k = Math.min(canvas.width / width, Math.max(canvas.height / height, SCALE_MIN), SCALE_MAX);
  return k >= 1 && k < SCALE_SNAP ? 1 : k;
}
