/** Small drawings of a card: histogram, bars, hatch, signs. Data in, SVG out. */

import { brief, greatest, percent, px } from "../../format";
import type { Histogram, Picture } from "../../protocol";
import { int32sOf } from "../../wire";
import { DECORATION, svg, svgPath, svgRect } from "../dom";
import { type Font, fitText, label, type Measure, MONO, SMALL, wrapText } from "./text";

/** Paths of the bars left and right of zero: log counts, on a base line. The bin that holds zero is cut there. */
export function bins({ low, high, counts }: Histogram, x: number, base: number, width: number, height: number) {
  const logs = Array.from(int32sOf(counts), Math.log1p);
  const most = Math.max(...logs, Number.MIN_VALUE);
  const step = width / Math.max(1, logs.length);
  /** Where zero lies, in bins from the left. */
  const zero = (-low / (high - low)) * logs.length || 0;
  const paths = { cool: "", warm: "" };
  for (const [i, log] of logs.entries()) {
    if (!log) continue;
    const cut = Math.min(i + 1, Math.max(i, zero));
    const bar = (from: number, to: number): string =>
      // A hair of overlap keeps the paper from shining through between bins.
      from < to
        ? px`M${x + from * step} ${base}v${-Math.max(0.75, (log / most) * height)}H${x + to * step + 0.02}V${base}z`
        : "";
    paths.cool += bar(i, cut);
    paths.warm += bar(cut, i + 1);
  }
  return paths;
}

/** In two colours, with a tick at zero where the range holds it. */
export function histogram(data: Histogram, x: number, y: number, width: number, height: number): SVGGElement {
  const { low, high } = data;
  const base = y + height;
  const { cool, warm } = bins(data, x, base, width, height);
  const zero = Math.round(x - (width * low) / (high - low)) + 0.5;
  return svg(
    "g.histogram",
    DECORATION,
    svgPath("cool", cool),
    svgPath("warm", warm),
    svgPath("base", px`M${x} ${base + 0.5}h${width}`),
    low < high && low <= 0 && high >= 0 && svgPath("zero", px`M${zero} ${base - 2}v5`),
  );
}

/** Diagonal lines in a frame: something is absent or yet to come. */
export function hatch(x: number, y: number, width: number, height: number, dashed: boolean): SVGGElement {
  const STEP = 8;
  let d = "";
  for (let s = STEP; s < width + height; s += STEP) {
    const [x1, y1] = s <= height ? [0, s] : [s - height, height];
    const [x2, y2] = s <= width ? [s, 0] : [width, s - width];
    d += px`M${x + x1} ${y + y1}L${x + x2} ${y + y2}`;
  }
  return svg("g.hatch", svg("path", { d }), svgRect(dashed ? "dashed" : "frame", x, y, width, height));
}

/** Lines of words in the middle of a box. */
export function sentence(text: string, box: DOMRectInit & { width: number; height: number }, measure: Measure) {
  const LINE = 13;
  const lines = wrapText(text, box.width - 8, Math.max(1, Math.floor(box.height / LINE)), measure, SMALL);
  const top = (box.y ?? 0) + (box.height - lines.length * LINE) / 2 + 10;
  const middle = (box.x ?? 0) + box.width / 2;
  const attributes = "small halo middle";
  return svg("g", ...lines.map((line, i) => label(middle, top + i * LINE, line, attributes)));
}

const BEST: Font = "600 10px ui";

/** Best classes as bars, best first. Probabilities against 1, other scores against the largest. */
export function classBars(
  picture: Extract<Picture, { kind: "classes" }>,
  rows: number,
  width: number,
  height: number,
  measure: Measure,
): SVGGElement {
  const ROW = 17.2;
  const entries = picture.entries.slice(0, rows);
  const likely = entries.every(({ value }) => value !== null && value >= 0 && value <= 1);
  const full = likely ? 1 : greatest(entries);
  const top = (height - entries.length * ROW) / 2;
  const drawn = entries.map(({ name, index, value }, i) => {
    const y = top + i * ROW;
    const number = value === null ? "–" : likely ? probability(value) : brief(value);
    const room = width - measure(number, MONO) - 6;
    const shown = fitText(name || `class ${index}`, room, measure, i === 0 ? BEST : SMALL);
    const bar = Math.max(1, (width * Math.abs(value ?? 0)) / full);
    return svg(
      i === 0 ? "g.class best" : "g.class",
      label(0, y + 9, shown, "small"),
      label(width, y + 9, number, "small mono end"),
      svgRect("track", 0, y + 11.5, width, 2.5),
      svgRect("bar", 0, y + 11.5, bar, 2.5),
    );
  });
  return svg("g", ...drawn);
}

const probability = (value: number): string =>
  value >= 0.995 ? "1.00" : value >= 0.01 ? value.toFixed(2).slice(1) : "<.01";

/** Signed bars around a zero line. */
export function vectorBars(values: ArrayLike<number>, width: number, height: number): SVGGElement {
  const limit = Math.max(1e-300, ...Array.from(values, (value) => (Number.isFinite(value) ? Math.abs(value) : 0)));
  const pitch = Math.min(14, width / values.length);
  const zero = height / 2;
  const paths = { cool: "", warm: "" };
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value)) continue;
    const bar = Math.max(0.5, (Math.abs(value) / limit) * zero);
    const thick = Math.max(0.8, pitch - 0.5);
    paths[value < 0 ? "cool" : "warm"] += px`M${i * pitch} ${zero}v${value < 0 ? bar : -bar}h${thick}V${zero}z`;
  }
  return svg(
    "g",
    svgPath("cool", paths.cool),
    svgPath("warm", paths.warm),
    svgPath("axis", px`M0 ${zero + 0.5}h${width}`),
  );
}

/** Up to ten values, one of them 1 and the others 0: cells with index and value. */
export function oneHot(values: readonly number[], width: number, height: number): SVGGElement {
  const step = width / values.length;
  const top = height / 2 - step;
  const cells = values.flatMap((value, i) => {
    const middle = (i + 0.5) * step;
    const words = "small mono middle";
    return [
      label(middle, top - 7, i, `${words} faint`),
      svgRect(value === 1 ? "one" : "none", i * step + 0.5, top, step - 1, 2 * step),
      label(middle, top + 2 * step + 14, value, words),
    ];
  });
  return svg("g", ...cells);
}

/** Words in two columns with their positions. */
export function wordColumns(words: readonly string[], width: number, height: number, measure: Measure): SVGGElement {
  const LINE = 14;
  const perColumn = Math.max(1, Math.floor(height / LINE));
  const shown = words.slice(0, perColumn * 2);
  const column = width / 2;
  const drawn = shown.flatMap((word, i) => {
    const left = Math.floor(i / perColumn) * column;
    const y = (i % perColumn) * LINE + 11;
    const cut = i === shown.length - 1 && words.length > shown.length;
    return [
      label(left, y, i, "small mono faint"),
      label(left + 15, y, cut ? `… ${words.length}` : fitText(word, column - 16, measure, MONO), "small mono"),
    ];
  });
  return svg("g", ...drawn);
}

/** Triangle and a count, right edge at `x`, baseline at `y`: dead channels, or how much is exactly zero. */
export function warning(x: number, y: number, text: string, width: number): SVGGElement {
  const left = x - width - 11;
  return svg(
    "g.warning",
    svg("path", { d: px`M${left} ${y}l4.5 -8l4.5 8z` }),
    label(left + 11.5, y, text, "small mono"),
  );
}

/** "61% 0": share of values that are exactly zero. */
export const zerosText = (fraction: number): string => `${percent(fraction)} 0`;
