/** Text that fits: SVG does not cut text by itself. */
import type { ReadonlySignal } from "../../state";
import { type Attributes, svg } from "../dom";

/** "weight size face", the face being one of the widget's two. */
export type Font = `${number} ${number}px ${"ui" | "code"}`;
export const NAME: Font = "600 11px code";
export const CODE: Font = "400 11px code";
export const MONO: Font = "400 10px code";
export const SMALL: Font = "400 10px ui";

/** Width of a text in px. */
export type Measure = (text: string, font: Font) => number;

/** Of a character, in em, where the font cannot be asked. */
const USUAL_WIDTH = 0.6;

/** Measures in the fonts that `root` is shown in. `epoch` changes when they may be others: loaded late, another theme. */
export function createMeasure(root: HTMLElement, epoch: ReadonlySignal<number>): Measure {
  const context = root.ownerDocument.createElement("canvas").getContext?.("2d") ?? null;
  const known = new Map<string, number>();
  let families: Record<string, string> = {};
  let read = Number.NaN;
  return (text, font) => {
    if (epoch() !== read) {
      read = epoch();
      families = {};
      known.clear();
    }
    if (!context || !root.isConnected) return text.length * Number.parseInt(font.slice(4), 10) * USUAL_WIDTH;
    const key = `${font}|${text}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    if (known.size > 4000) known.clear();
    const [weight, size, face = ""] = font.split(" ");
    families[face] ??= getComputedStyle(root).getPropertyValue(`--nf-${face}`) || "sans-serif";
    context.font = `${weight} ${size} ${families[face]}`;
    const { width } = context.measureText(text);
    known.set(key, width);
    return width;
  };
}

/**
 * The text, or as much of it as fits into `width` with an ellipsis; "" when not even two letters do. A dotted path loses
 * its head, as its end is what tells stages apart.
 */
export function fitText(text: string, width: number, measure: Measure, font: Font): string {
  if (measure(text, font) <= width) return text;
  const fromEnd = /\w\.\w/.test(text);
  const cut = (length: number): string => (fromEnd ? `…${text.slice(-length)}` : `${text.slice(0, length)}…`);
  let [fits, fails] = [0, text.length];
  while (fails - fits > 1) {
    const middle = (fits + fails) >> 1;
    if (measure(cut(middle), font) <= width) fits = middle;
    else fails = middle;
  }
  return fits >= 2 ? cut(fits) : "";
}

/** Greedy lines of at most `width`, the last one cut. */
export function wrapText(text: string, width: number, lines: number, measure: Measure, font: Font): string[] {
  const out: string[] = [];
  let line = "";
  const words = text.split(/\s+/).filter(Boolean);
  for (const [i, word] of words.entries()) {
    const longer = line ? `${line} ${word}` : word;
    if (measure(longer, font) <= width || !line) line = longer;
    else if (out.length + 1 < lines) {
      out.push(line);
      line = word;
    } else {
      line = [line, ...words.slice(i)].join(" ");
      break;
    }
  }
  return [...out, line].map((each) => fitText(each, width, measure, font));
}

/** `classes` say how it looks: "small mono end". */
export const label = (
  x: number,
  y: number,
  text: string | number,
  classes: string,
  attributes: Attributes = {},
): SVGTextElement => svg(`text.${classes}`, { x, y, ...attributes }, text);
