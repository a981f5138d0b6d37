/**
 * Values to colours. One signed table per theme: zero is the paper, warm is positive, cool negative, and magnitude
 * darkens in the light theme, brightens in the dark one. Pure arithmetic; nothing here knows the DOM.
 */
import type { Options, Statistics } from "./protocol";

export type Theme = "light" | "dark";
export type Values = Float32Array | Float64Array;

/**
 * How a value becomes a place in the table: (value − zero) / limit, clipped to [−1, 1]. `limit` > 0.
 */
export interface Scale {
  readonly zero: number;
  readonly limit: number;
}

/** Entries per side of zero; the table has 2 · SIDE + 1 entries, entry SIDE is zero. */
const SIDE = 255;

/** Colours at −1, −¾ … ¾, 1. */
const STOPS: Readonly<Record<Theme, readonly string[]>> = {
  light: ["0b2b5f", "2070bd", "74b6ea", "d3e8fb", "fbfbfc", "fde0b8", "f4a04a", "c2531a", "5b1709"],
  dark: ["dcf5ff", "5cbdf3", "1c72bd", "10355f", "0e1013", "5a2410", "c25a1a", "f7ab3f", "fff2c4"],
};
/** What is not finite: no colour of the table comes near it in either theme. */
const NOT_FINITE: Readonly<Record<Theme, string>> = { light: "d4006a", dark: "ff4fa3" };

export interface ColourTable {
  readonly theme: Theme;
  /** RGBA, 4 bytes per entry, from −1 to 1. */
  readonly rgba: Uint8ClampedArray;
  /** RGBA of NaN and the infinities. */
  readonly notFinite: readonly [number, number, number];
}

export type Rgb = readonly [number, number, number];

const parse = (hex: string): Rgb => [0, 2, 4].map((i) => Number.parseInt(hex.slice(i, i + 2), 16)) as unknown as Rgb;

function makeTable(theme: Theme): ColourTable {
  const stops = STOPS[theme].map(parse);
  const rgba = new Uint8ClampedArray((2 * SIDE + 1) * 4).fill(255);
  for (let i = 0; i <= 2 * SIDE; i++) {
    const place = (i / (2 * SIDE)) * (stops.length - 1);
    const below = Math.min(Math.floor(place), stops.length - 2);
    for (let k = 0; k < 3; k++) {
      const [a, b] = [stops[below]![k]!, stops[below + 1]![k]!];
      rgba[i * 4 + k] = a + (b - a) * (place - below);
    }
  }
  return { theme, rgba, notFinite: parse(NOT_FINITE[theme]) };
}

const TABLES: Readonly<Record<Theme, ColourTable>> = { light: makeTable("light"), dark: makeTable("dark") };

export const colourTable = (theme: Theme): ColourTable => TABLES[theme];

/** ± max(|low|, |high|): zero stays the paper. */
export function symmetricScale(low: number, high: number): Scale {
  const limit = Math.max(Math.abs(low), Math.abs(high));
  return { zero: 0, limit: limit > 0 && Number.isFinite(limit) ? limit : 1 };
}

/** A range that the reader fixed: around zero where it contains zero, else from its end nearest to zero. */
export function fixedScale(low: number, high: number): Scale {
  if (low >= 0) return { zero: low, limit: high - low || 1 };
  if (high <= 0) return { zero: high, limit: high - low || 1 };
  return symmetricScale(low, high);
}

export interface Range {
  readonly low: number | null;
  readonly high: number | null;
}

/**
 * The scale of a stage's pictures. "stage": ± max(|p1|, |p99|), shared by its channels (a range around p1 and p99 that is
 * zero, as of a map with a few sparks, falls back to min and max). "channel": `own`, each picture's range. A pair: fixed.
 */
export function scaleFor(rule: Options["normalisation"], statistics: Statistics | null, own: Range | null): Scale {
  if (typeof rule !== "string") return fixedScale(rule[0], rule[1]);
  if (rule === "channel" && own && own.low !== null && own.high !== null) return symmetricScale(own.low, own.high);
  const robust = Math.max(Math.abs(statistics?.p1 ?? 0), Math.abs(statistics?.p99 ?? 0));
  if (robust > 0) return symmetricScale(-robust, robust);
  return symmetricScale(statistics?.min ?? own?.low ?? 0, statistics?.max ?? own?.high ?? 0);
}

/** Attention weights: 0 … 1 on the warm half. */
export const WEIGHTS: Scale = { zero: 0, limit: 1 };

/** Place of a value in the table: −1 … 1, or NaN. */
export function place(value: number, scale: Scale): number {
  if (!Number.isFinite(value)) return Number.NaN;
  return Math.max(-1, Math.min(1, (value - scale.zero) / scale.limit));
}

/** RGB of one value. */
export function colourOf(value: number, scale: Scale, table: ColourTable): Rgb {
  const rgba = new Uint8ClampedArray(4);
  floatsToRgba([value], scale, table, rgba);
  return [rgba[0]!, rgba[1]!, rgba[2]!];
}

export const cssColour = (rgb: Rgb): string => `rgb(${rgb[0]}, ${rgb[1]}, ${rgb[2]})`;

/** RGBA of values; `out` holds 4 bytes per value. */
export function floatsToRgba(
  values: ArrayLike<number>,
  scale: Scale,
  { rgba, notFinite }: ColourTable,
  out: Uint8ClampedArray,
): void {
  for (let i = 0; i < values.length; i++) {
    const at = place(values[i]!, scale);
    const lost = Number.isNaN(at);
    const from = lost ? notFinite : rgba;
    const entry = lost ? 0 : (SIDE + Math.round(at * SIDE)) * 4;
    for (let k = 0; k < 3; k++) out[i * 4 + k] = from[entry + k]!;
    out[i * 4 + 3] = 255;
  }
}

/** Code 255 is "not finite". */
export const NOT_FINITE_CODE = 255;

/** value ≈ low + code / 254 · (high − low); NaN for 255. */
export const decode = (code: number, low: number, high: number): number =>
  code === NOT_FINITE_CODE ? Number.NaN : low + (code / 254) * (high - low);

export function decodeCodes(codes: Uint8Array, low: number, high: number): Float32Array {
  return Float32Array.from(codes, (code) => decode(code, low, high));
}

const EVERY_CODE = Uint8Array.from({ length: 256 }, (_, code) => code);

/** RGBA of 8-bit codes, through the colours of the 256 codes. */
export function codesToRgba(
  codes: Uint8Array,
  range: { readonly low: number; readonly high: number },
  scale: Scale,
  table: ColourTable,
  out: Uint8ClampedArray,
): void {
  const colours = new Uint8ClampedArray(256 * 4);
  floatsToRgba(decodeCodes(EVERY_CODE, range.low, range.high), scale, table, colours);
  const whole = new Uint32Array(colours.buffer);
  const pixels = new Uint32Array(out.buffer, out.byteOffset, codes.length);
  for (let i = 0; i < codes.length; i++) pixels[i] = whole[codes[i]!]!;
}

/** Relative luminance of WCAG, 0 … 1. */
export function luminance([r, g, b]: Rgb): number {
  const linear = (byte: number): number => {
    const c = byte / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** Contrast of two colours, 1 … 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/**
 * Black or white, whichever reads better: pure ones, since one of them always reaches 4.5 : 1. On paper of luminance L
 * they are as good as each other where (L + 0.05) / 0.05 = 1.05 / (L + 0.05).
 */
export const inkOn = (paper: Rgb): "#000" | "#fff" => (luminance(paper) + 0.05 >= Math.sqrt(0.0525) ? "#000" : "#fff");
