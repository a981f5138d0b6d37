/** The numbers of a leaf, beside the histogram of its values. */
import { brief, grouped, plural } from "../../format";
import type { Histogram, Statistics, Summary } from "../../protocol";
import { figure, html, icon, span, svgPath } from "../dom";
import { bins } from "../draw/marks";
import { label } from "../draw/text";
import { terms } from "../parts";
import { share } from "./words";

export function statisticsTable(statistics: Statistics): HTMLDListElement {
  const { min, max, mean, std, p1, p99, zeros, negatives, nan, inf } = statistics;
  const number = (value: number | null): string => (value === null ? "–" : brief(value));
  return terms("i-statistics", [
    ["min", number(min)],
    ["max", number(max)],
    ["mean", number(mean)],
    ["std", number(std)],
    ["p1", number(p1)],
    ["p99", number(p99)],
    ["zeros", share(zeros)],
    ["neg", share(negatives)],
    ["NaN", grouped(nan)],
    ["Inf", grouped(inf)],
  ]);
}

const WIDTH = 202;
const HEIGHT = 62;
const TOP = 6;
const BASE = TOP + HEIGHT;

/** A dotted line at a percentile, its name beside it, on the side where there is room. */
function percentile(x: number, name: string, side: "left" | "right"): SVGElement[] {
  const at = Math.round(x) + 0.5;
  const left = (side === "left" && x > 18) || x > WIDTH - 24;
  return [
    svgPath("i-percentile", `M${at} 4v${BASE - 4}`),
    label(at + (left ? -3 : 3), 12, name, left ? "i-tick end" : "i-tick"),
  ];
}

/** 64 bins over the finite values; heights are log counts. */
export function histogramFigure(histogram: Histogram, { count, p1, p99 }: Statistics): SVGSVGElement {
  const { low, high } = histogram;
  const x = (value: number): number => ((value - low) / (high - low || 1)) * WIDTH;
  const { cool, warm } = bins(histogram, 0, BASE, WIDTH, HEIGHT);
  const zero = x(0);
  const inside = zero >= 0 && zero <= WIDTH;
  const text = `Histogram of ${plural(count, "value")} from ${brief(low)} to ${brief(high)}, heights are log counts`;
  return figure(
    "svg.i-histogram",
    WIDTH,
    BASE + 18,
    { role: "img", label: text },
    svgPath("i-cool", cool),
    svgPath("i-warm", warm),
    svgPath("i-axis", `M0 ${BASE + 0.5}H${WIDTH}`),
    ...(p1 !== null && high > low ? percentile(x(p1), "p1", "left") : []),
    ...(p99 !== null && high > low ? percentile(x(p99), "p99", "right") : []),
    inside && svgPath("i-zero", `M${Math.round(zero) + 0.5} ${BASE - 3}v7`),
    // The ends have the first right to their place under the axis.
    inside && zero > 44 && zero < WIDTH - 44 && label(zero, BASE + 14, "0", "i-tick i-code middle"),
    label(0, BASE + 14, brief(low), "i-tick i-code"),
    label(WIDTH, BASE + 14, brief(high), "i-tick i-code end"),
  );
}

/** "12 NaN and 3 Inf": what there is of each; "" for none of any. */
const amounts = (between: string, ...counts: readonly (readonly [number, string])[]): string =>
  counts.flatMap(([count, what]) => (count > 0 ? [`${grouped(count)} ${what}`] : [])).join(between);

/** "12 NaN and 3 Inf among 75,264 values", or "" where all are finite. */
export function notFiniteText({ nan, inf, count }: Statistics): string {
  const found = amounts(" and ", [nan, "NaN"], [inf, "Inf"]);
  return found && `${found} among ${plural(count, "value")}`;
}

/** The alarm in words, or null. What is drawn leaves such values out. */
export function notFiniteAlarm(statistics: Statistics): HTMLElement | null {
  const text = notFiniteText(statistics);
  if (!text) return null;
  const words = `${text}; the numbers here are over the rest`;
  return html("p.i-alarm", { "data-alarm": "not-finite" }, icon("cross"), words);
}

/** "✓ none dead, none saturated", or how many of each. */
export function healthLine({ ranking }: Summary): HTMLElement | null {
  if (!ranking) return null;
  const bad = amounts(", ", [ranking.dead, "dead"], [ranking.saturated, "saturated"]);
  const meaning =
    "dead: the same value everywhere; saturated: at least half of its values at a bound of the activation";
  const attributes = { "data-alarm": bad ? "channels" : null, title: meaning };
  return span("i-health", attributes, bad ? icon("warn") : "✓ ", bad || "none dead, none saturated");
}
