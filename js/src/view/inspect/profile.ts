/** Row and column through the crosshair, drawn like traces of a scope: zero in the middle, warm up, cool down. */
import { times } from "../../lists";
import { px } from "../../format";
import type { Values } from "../../colour";
import { type ReadonlySignal, watch } from "../../state";
import { figure, setChildren, svgPath } from "../dom";

export interface ProfileSource {
  /** "row" runs left to right, "column" top to bottom. */
  readonly along: "row" | "column";
  /** CSS px along the values, and across them. */
  readonly length: number;
  readonly depth: number;
  /** Null while they are not known. */
  readonly values: ReadonlySignal<Values | null>;
  /** Full deflection. */
  readonly limit: ReadonlySignal<number>;
  /** Index of the crosshair among `count` places. */
  at(): number;
  readonly count: number;
  readonly label: string;
}

interface Bar {
  /** Along the values. */
  readonly from: number;
  readonly to: number;
  /** Signed, −1 to 1. */
  readonly low: number;
  readonly high: number;
}

/** One bar per value, or, where they are finer than the screen, one per px that spans what it covers. */
export function barsOf(values: Values, limit: number, length: number): Bar[] {
  const bars = Math.min(values.length, Math.max(1, Math.floor(length)));
  const clip = (value: number): number => Math.max(-1, Math.min(1, value / (limit || 1)));
  return times(bars, (i) => {
    const from = Math.floor((i * values.length) / bars);
    const to = Math.max(from + 1, Math.floor(((i + 1) * values.length) / bars));
    let [low, high] = [0, 0];
    for (let j = from; j < to; j++) {
      const value = values[j]!;
      if (Number.isNaN(value)) continue;
      low = Math.min(low, clip(value));
      high = Math.max(high, clip(value));
    }
    return { from: (i * length) / bars, to: ((i + 1) * length) / bars, low, high };
  });
}

/** Bars thinner than this are not seen. */
const LEAST = 0.6;

/** Paths of the positive and of the negative bars, and of those among them that `chosen` holds. */
function paths(bars: readonly Bar[], { along, depth }: ProfileSource, chosen: (bar: Bar) => boolean) {
  const out = { warm: "", cool: "", warmHere: "", coolHere: "" };
  const middle = depth / 2;
  for (const bar of bars) {
    const gap = bar.to - bar.from > 2 ? 0.5 : 0;
    const size = bar.to - bar.from - gap;
    const start = bar.from + gap / 2;
    for (const [value, name] of [
      [bar.high, "warm"],
      [bar.low, "cool"],
    ] as const) {
      if (value === 0) continue;
      const reach = Math.sign(value) * Math.max(LEAST, Math.abs(value) * middle);
      const d =
        along === "row"
          ? px`M${start} ${middle}v${-reach}h${size}V${middle}z`
          : px`M${middle} ${start}h${reach}v${size}H${middle}z`;
      out[chosen(bar) ? (`${name}Here` as const) : name] += d;
    }
  }
  return out;
}

export function profile(source: ProfileSource, end: AbortSignal): SVGSVGElement {
  const { along, length, depth, count } = source;
  const [width, height] = along === "row" ? [length, depth] : [depth, length];
  const drawn = figure("svg.i-profile", width, height, { role: "img", label: source.label });
  watch(end, () => {
    const values = source.values();
    const middle = depth / 2;
    const axis = along === "row" ? `M0 ${middle}H${length}` : `M${middle} 0V${length}`;
    if (!values) return setChildren(drawn, [svgPath("i-profile-axis", axis)]);
    const centre = ((source.at() + 0.5) * length) / Math.max(1, count);
    const bars = barsOf(values, source.limit(), length);
    const { warm, cool, warmHere, coolHere } = paths(bars, source, (bar) => bar.from <= centre && centre < bar.to);
    setChildren(drawn, [
      svgPath("i-warm i-far", warm),
      svgPath("i-cool i-far", cool),
      svgPath("i-warm", warmHere),
      svgPath("i-cool", coolHere),
      svgPath("i-profile-axis", axis),
    ]);
  });
  return drawn;
}
