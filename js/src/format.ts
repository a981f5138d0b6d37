/** Numbers and shapes as text. Negative numbers carry a true minus sign. */
import type { EdgeInfo, OpInfo, Shape, StageInfo } from "./protocol";

const MINUS = "−";
const signed = (value: number, text: string): string => (value < 0 ? MINUS + text : text);

/** A number in words: `spell` gives the digits of its size, where it has any. */
function spelled(value: number | null, spell: (size: number) => string): string {
  if (value === null || Number.isNaN(value)) return "NaN";
  const size = Math.abs(value);
  return signed(value, size === Number.POSITIVE_INFINITY ? "∞" : spell(size));
}

/** Three significant digits or so, for cards: 4.16, −23.6, 1.2e5, 0. */
export const brief = (value: number | null): string =>
  spelled(value, (size) => {
    if (size === 0) return "0";
    if (size >= 99_995 || size < 0.0005) return size.toExponential(1);
    return size.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.00995 ? 2 : 4);
  });

/** At least six significant digits: 21.7358. Whole numbers stay whole. */
export const precise = (value: number | null): string =>
  spelled(value, (size) => {
    if (Number.isInteger(size) && size < 1e15) return String(size);
    if (size >= 1e6 || size < 1e-4) return size.toExponential(5);
    return size.toPrecision(size >= 1e5 ? 7 : 6);
  });

/** The greatest magnitude; what is not known counts for nothing. */
export const greatest = (values: readonly { readonly value: number | null }[]): number =>
  Math.max(1e-12, ...values.map(({ value }) => Math.abs(value ?? 0)));

/** "C×H×W". A bare number for a vector, also when it has trailing axes of size one: 1280 for 1280×1×1. */
export function shapeText(shape: Shape): string {
  if (!shape.length) return "scalar";
  const flat = shape.slice(1).every((size) => size === 1);
  return (flat ? shape.slice(0, 1) : shape).join("×");
}

/** The shape without its batch axis: all that cards and edges show. */
export const sampleShape = (shape: Shape): string => shapeText(shape.slice(1));

/** As far as the axes are known, else the first one is taken for the batch. */
export const ofSample = (shape: Shape, axes: readonly string[] = []): string =>
  axes.length === shape.length ? shapeText(shape.filter((_, i) => axes[i] !== "batch")) : sampleShape(shape);

/** The same where room is short: 16×64² for 16×64×64. */
export function compactShape(shape: Shape): string {
  const [channels, rows, columns] = shape.slice(1);
  return shape.length === 4 && rows === columns && rows !== 1 ? `${channels}×${rows}²` : sampleShape(shape);
}

/** 4.65 M, 301 k, 812. */
export function count(value: number): string {
  if (value >= 1e9) return `${(value / 1e9).toPrecision(3)} G`;
  if (value >= 999_500) return `${(value / 1e6).toPrecision(3)} M`;
  if (value >= 10_000) return `${Math.round(value / 1e3)} k`;
  if (value >= 1_000) return `${(value / 1e3).toFixed(1)} k`;
  return String(value);
}

/** 75 ms, 1.2 s. */
export const duration = (ms: number): string =>
  ms >= 1000 ? `${(ms / 1000).toPrecision(2)} s` : ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toPrecision(2)} ms`;

/** 61%; never 0% for something, nor 100% for not everything. */
export function percent(fraction: number): string {
  if (fraction > 0 && fraction < 0.005) return "<1%";
  if (fraction < 1 && fraction >= 0.995) return ">99%";
  return `${Math.round(fraction * 100)}%`;
}

export const opText = (op: OpInfo): string => (op.detail ? `${op.name}(${op.detail})` : op.name);

/** "cat(dim=1)", "add · relu", or "" for a bare connection. */
export const viaText = (edge: EdgeInfo): string => edge.via.map(opText).join(" · ");

/** The parts that there are. */
export const joined = (parts: readonly (string | false | null | undefined)[], by = " · "): string =>
  parts.filter(Boolean).join(by);

/** "Conv2d 3×3 /2". */
export const typeText = ({ type_name, detail }: StageInfo): string => joined([type_name, detail], " ");

/** At most `length` characters, the last one an ellipsis where something is left out. */
export const clip = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, Math.max(1, length - 1))}…`;

/** A template whose numbers are lengths: a hundredth of a px is as fine as can be seen. */
export const px = (parts: TemplateStringsArray, ...lengths: readonly number[]): string =>
  parts.reduce((text, part, i) => text + Math.round(lengths[i - 1]! * 100) / 100 + part);

/** Why a control is off. */
export const needKernel = (what: string): string => `${what} need the kernel`;

/** 75,264. */
export const grouped = new Intl.NumberFormat("en-GB").format as (count: number) => string;

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : many}`;
