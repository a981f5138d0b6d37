/** Text that fits: SVG does not cut text by itself. */
import type { ReadonlySignal } from "../../state";
import { type Attributes, svg } from "../dom";

export type Face = "ui" | "code";

/** Width of a text in px. */
export type Measure = (text: string, face: Face, px: number, weight?: number) => number;

/** Of a character, in em, where the font cannot be asked. */
const USUAL_WIDTH: Readonly<Record<Face, number>> = { code: 0.6, ui: 0.55 };

/** Measures in the fonts that `root` is shown in. `epoch` changes when they may be others: loaded late, another theme. */
export function createMeasure(root: HTMLElement, epoch: ReadonlySignal<number>): Measure {
  const context = root.ownerDocument.createElement("canvas").getContext?.("2d") ?? null;
  const known = new Map<string, number>();
  let families: Readonly<Record<Face, string>> | null = null;
  let read = Number.NaN;
  return (text, face, px, weight = 400) => {
    if (epoch.value !== read) {
      read = epoch.value;
      families = null;
      known.clear();
    }
    if (!context || !root.isConnected) return text.length * px * USUAL_WIDTH[face];
    families ??= familiesOf(root);
    const font = `${weight} ${px}px ${families[face]}`;
    const key = `${font}|${text}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    if (known.size > 4000) known.clear();
    context.font = font;
    const width = context.measureText(text).width;
    known.set(key, width);
    return width;
  };
}

function familiesOf(root: HTMLElement): Readonly<Record<Face, string>> {
  const style = getComputedStyle(root);
  const family = (name: string): string => style.getPropertyValue(name) || "sans-serif";
  return { code: family("--nf-code"), ui: family("--nf-ui") };
}

/**
 * The text, or as much of it as fits into `width` with an ellipsis; "" when not even two letters do. A dotted path loses
 * its head, as its end is what tells stages apart.
 */
export function fitText(text: string, width: number, measure: (text: string) => number): string {
  if (measure(text) <= width) return text;
  const fromEnd = /\w\.\w/.test(text);
  const cut = (length: number): string => (fromEnd ? `…${text.slice(-length)}` : `${text.slice(0, length)}…`);
  let [fits, fails] = [0, text.length];
  while (fails - fits > 1) {
    const middle = (fits + fails) >> 1;
    if (measure(cut(middle)) <= width) fits = middle;
    else fails = middle;
  }
  return fits >= 2 ? cut(fits) : "";
}

/** Greedy lines of at most `width`, the last one cut. */
export function wrapText(text: string, width: number, lines: number, measure: (text: string) => number): string[] {
  const out: string[] = [];
  let line = "";
  const words = text.split(/\s+/).filter(Boolean);
  for (const [i, word] of words.entries()) {
    const longer = line ? `${line} ${word}` : word;
    if (measure(longer) <= width || !line) line = longer;
    else if (out.length + 1 < lines) {
      out.push(line);
      line = word;
    } else {
      line = [line, ...words.slice(i)].join(" ");
      break;
    }
  }
  return [...out, line].map((each) => fitText(each, width, measure));
}

export function label(x: number, y: number, text: string, attributes: Attributes = {}): SVGTextElement {
  return svg("text", { x, y, ...attributes }, text);
}
