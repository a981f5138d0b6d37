/** The numbers of a leaf, beside the histogram of its values. */
import { brief, grouped, plural } from "../../format";
import type { Histogram, Statistics, Summary } from "../../protocol";
import { int32sOf } from "../../wire";
import { html, icon, svg } from "../dom";
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

/** Paths of the bars left and right of zero. The bin that holds zero is cut there. */
function bars({ low, high, counts: held }: Histogram): { cool: string; warm: string } {
  const counts = int32sOf(held);
  const logs = Array.from(counts, Math.log1p);
  const most = Math.max(...logs, Number.MIN_VALUE);
  const step = (high - low) / counts.length || 1;
  const x = (value: number): number => ((value - low) / (step * counts.length)) * WIDTH;
  const paths = { cool: "", warm: "" };
  for (const [i, log] of logs.entries()) {
    if (log === 0) continue;
    const height = Math.max(0.75, (log / most) * HEIGHT);
    const [from, to] = [low + i * step, low + (i + 1) * step];
    const zero = Math.min(to, Math.max(from, 0));
    const bar = (a: number, b: number): string =>
      a >= b ? "" : `M${x(a).toFixed(2)} ${BASE}v${-height.toFixed(2)}H${(x(b) + 0.02).toFixed(2)}V${BASE}z`;
    paths.cool += bar(from, zero);
    paths.warm += bar(zero, to);
  }
  return paths;
}

/** A dotted line at a percentile, its name beside it, on the side where there is room. */
function percentile(x: number, name: string, side: "left" | "right"): SVGElement[] {
  const at = Math.round(x) + 0.5;
  const left = (side === "left" && x > 18) || x > WIDTH - 24;
  return [
    svg("path.i-percentile", { d: `M${at} 4v${BASE - 4}` }),
    svg("text.i-tick", { x: at + (left ? -3 : 3), y: 12, "text-anchor": left ? "end" : "start" }, name),
  ];
}

/** 64 bins over the finite values; heights are log counts. */
export function histogramFigure(histogram: Histogram, statistics: Statistics): SVGSVGElement {
  const { low, high } = histogram;
  const x = (value: number): number => ((value - low) / (high - low || 1)) * WIDTH;
  const { cool, warm } = bars(histogram);
  const zero = x(0);
  const inside = zero >= 0 && zero <= WIDTH;
  const range = `from ${brief(low)} to ${brief(high)}`;
  const label = `Histogram of ${plural(statistics.count, "value")} ${range}, heights are log counts`;
  const marks: SVGElement[] = [];
  const { p1, p99 } = statistics;
  if (p1 !== null && high > low) marks.push(...percentile(x(p1), "p1", "left"));
  if (p99 !== null && high > low) marks.push(...percentile(x(p99), "p99", "right"));
  if (inside) marks.push(svg("path.i-zero", { d: `M${Math.round(zero) + 0.5} ${BASE - 3}v7` }));
  // The ends have the first right to their place under the axis.
  if (inside && zero > 44 && zero < WIDTH - 44)
    marks.push(svg("text.i-tick i-code", { x: zero, y: BASE + 14, "text-anchor": "middle" }, "0"));
  return svg(
    "svg.i-histogram",
    { width: WIDTH, height: BASE + 18, viewBox: `0 0 ${WIDTH} ${BASE + 18}`, role: "img", "aria-label": label },
    svg("path.i-cool", { d: cool }),
    svg("path.i-warm", { d: warm }),
    svg("path.i-axis", { d: `M0 ${BASE + 0.5}H${WIDTH}` }),
    ...marks,
    svg("text.i-tick i-code", { x: 0, y: BASE + 14 }, brief(low)),
    svg("text.i-tick i-code", { x: WIDTH, y: BASE + 14, "text-anchor": "end" }, brief(high)),
  );
}

/** "12 NaN and 3 Inf among 75,264 values", or "" where all are finite. */
export function notFiniteText({ nan, inf, count }: Statistics): string {
  const parts = [nan > 0 ? `${grouped(nan)} NaN` : "", inf > 0 ? `${grouped(inf)} Inf` : ""].filter(Boolean);
  return parts.length ? `${parts.join(" and ")} among ${plural(count, "value")}` : "";
}

/** The alarm in words, or null. What is drawn leaves such values out. */
export function notFiniteAlarm(statistics: Statistics): HTMLElement | null {
  const text = notFiniteText(statistics);
  if (!text) return null;
  return html(
    "p.i-alarm",
    { "data-alarm": "not-finite" },
    icon("cross"),
    `${text}; the numbers here are over the rest`,
  );
}

/** "✓ none dead, none saturated", or how many of each; `item` is "channel", "head". */
function healthText({ ranking }: Summary): string {
  if (!ranking) return "";
  const { dead, saturated } = ranking;
  if (dead === 0 && saturated === 0) return "none dead, none saturated";
  return [dead > 0 ? `${grouped(dead)} dead` : "", saturated > 0 ? `${grouped(saturated)} saturated` : ""]
    .filter(Boolean)
    .join(", ");
}

export function healthLine(summary: Summary): HTMLElement | null {
  const text = healthText(summary);
  if (!text || !summary.ranking) return null;
  const { dead, saturated } = summary.ranking;
  const bad = dead + saturated > 0;
  const meaning =
    "dead: the same value everywhere; saturated: at least half of its values at a bound of the activation";
  const mark = bad ? icon("warn") : "✓ ";
  return html("span.i-health", { "data-alarm": bad ? "channels" : null, title: meaning }, mark, text);
}
