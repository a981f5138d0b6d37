/** A stage as a card: name, type, picture, shape, histogram, range. Sizes as in the drawing system. */
import { brief, needKernel, ofSample, typeText } from "../../format";
import type { Card, CardSize } from "../../layout/types";
import type { StageInfo, Summary } from "../../protocol";
import { type Level, rectAt } from "../../viewport";
import { type Child, movedTo, svg, svgPath, svgRect } from "../dom";
import { hatch, histogram, sentence, warning, zerosText } from "./marks";
import type { Box, Cell } from "./plan";
import { CODE, fitText, label, type Measure, MONO, NAME, SMALL } from "./text";
import type { Drawing } from "./tiles";

export const INSET = 7;
const HEAD = 33;
/** Below the picture box: shape, histogram and range; the shape alone on a compact card. */
const FOOT: Readonly<Record<CardSize, number>> = { small: 49, large: 49, compact: 23 };
/** Zoom from which a card is "near"; its text then takes this much less of the card. */
const NEAR = 1.6;
/** Values up to this many make no histogram worth drawing. */
const HISTOGRAM_FROM = 65;
/** Width in which a line can be read, and that it needs. */
const [SPARK_FROM, SPARK_TO] = [16, 48];
/** Share of exact zeros in a vector that is pointed out. */
const ZEROS_FROM = 0.5;

export interface CardStyle {
  readonly size: CardSize;
  readonly level: Level;
  readonly card: Card;
  readonly measure: Measure;
  /** Zoom in coarse steps: how much of a name fits. */
  readonly k: number;
  /** Of a picture that is not there: still to come, or being made now. */
  readonly waiting: "queued" | "now";
  /** The course of the stage over the frames, in a cell beside the shape; null where there is none. */
  spark?(cell: Cell): SVGElement | null;
  /** Something answers when a stage is opened. */
  readonly live: boolean;
  /** A better picture is on its way and the kernel is slow. */
  readonly late: boolean;
  /** The kernel could not give a better picture. */
  readonly failed: boolean;
}

/** Picture box of a card, relative to the card. */
export function pictureBox({ size, level, card }: Pick<CardStyle, "size" | "level" | "card">): Cell {
  const shrink = level === "near" ? NEAR : 1;
  const [x, y] = [INSET / shrink, HEAD / shrink];
  return { x, y, width: card.width - 2 * x, height: card.height - y - FOOT[size] / shrink };
}

/** What a reader should be warned of, in the fewest letters; "" when nothing. */
export function alarmText(stage: StageInfo, summary: Summary | undefined): string {
  const statistics = summary?.statistics;
  if (!summary || !statistics || stage.kind === "input") return "";
  if (statistics.nan > 0) return "NaN";
  if (statistics.inf > 0) return "Inf";
  if (summary.ranking && summary.ranking.dead > 0) return String(summary.ranking.dead);
  if (summary.picture.kind === "vector" && statistics.count >= HISTOGRAM_FROM && statistics.zeros >= ZEROS_FROM)
    return zerosText(statistics.zeros);
  return "";
}

export const isAlarming = (summary: Summary | undefined): boolean =>
  summary?.statistics != null && summary.statistics.nan + summary.statistics.inf > 0;

/** The shape of the first leaf, and how many more the stage gives out. Attention happens in it, and is not given out. */
export function shapeOf(stage: StageInfo, summaries: readonly Summary[]): string {
  const shape = summaries[0]?.shape ?? stage.leaves[0]?.shape;
  if (!shape) return "";
  const derived = summaries
    .slice(1)
    .filter((summary) => summary.axes_kind === "attention" || /\bphase$/.test(summary.leaf));
  const more = Math.max(stage.leaves.length, summaries.length) - 1 - derived.length;
  return ofSample(shape, summaries[0]?.axes) + (more > 0 ? ` +${more}` : "");
}

/** Text keeps its size on screen above 100 %: a group that is scaled back around its origin. */
export const steady = (x: number, y: number, ...children: readonly Child[]): SVGGElement =>
  movedTo(x, y, svg("g.steady", ...children));

function head(stage: StageInfo, summary: Summary | undefined, style: CardStyle): Child[] {
  const { measure } = style;
  const room = style.card.width * Math.max(1, style.k) - 2 * INSET;
  const alarm = alarmText(stage, summary);
  const taken = alarm && measure(alarm, MONO);
  const name = fitText(stage.label, room - (stage.expandable ? 16 : 0), measure, NAME);
  const type = fitText(typeText(stage), room - (taken ? taken + 16 : 0), measure, SMALL);
  return [
    steady(0, 0, label(INSET, 15, name, "name"), label(INSET, 27, type, "type")),
    steady(
      style.card.width,
      0,
      taken && warning(-INSET, 27, alarm, taken),
      stage.expandable && expandButton(stage, style),
    ),
  ];
}

function expandButton(stage: StageInfo, { live }: CardStyle): SVGGElement {
  return svg(
    "g.expand",
    { "data-expand": stage.id, "aria-disabled": !live || null },
    svg("title", live ? `Show what is inside ${stage.label} (key e)` : needKernel("Other depths")),
    svgRect("hit", -22, 3, 18, 18),
    svg("path", { d: "M-16.5 11.5h7M-13 8v7" }),
  );
}

function foot(stage: StageInfo, summaries: readonly Summary[], style: CardStyle): Child[] {
  const { card, size, measure } = style;
  const summary = summaries[0];
  const room = card.width * Math.max(1, style.k) - 2 * INSET;
  const shape = fitText(shapeOf(stage, summaries), room, measure, CODE);
  const rise = FOOT[size] - 15;
  const width = Math.min(SPARK_TO, room - measure(shape, CODE) - 7);
  const beside = rectAt(INSET + room - width - 2, -rise - 8, width, 8);
  const words = [label(INSET, -rise, shape, "shape"), width >= SPARK_FROM && style.spark?.(beside)];
  const { statistics, histogram: bins } = summary ?? {};
  if (size === "compact" || !statistics?.count) return [steady(0, card.height, ...words)];
  return [
    steady(0, card.height, ...words, label(INSET, -4, brief(statistics.min), "range")),
    steady(card.width, card.height, label(-INSET, -4, brief(statistics.max), "range end")),
    bins &&
      statistics.count >= HISTOGRAM_FROM &&
      movedTo(0, card.height, svg("g.steady-height", histogram(bins, INSET, -28, card.width - 2 * INSET, 12))),
  ];
}

const rounded = (card: Card): SVGRectElement => svgRect("card", 0.5, 0.5, card.width - 1, card.height - 1, { rx: 5 });

/** In the upper right of the picture: three dots for asked but not there, a cross for asked in vain. */
function tag(card: Card, kind: "late" | "failed"): SVGGElement {
  const dots = [0, 1, 2].map((i) => svg("circle", { cx: card.width - 20.5 + i * 4.5, cy: 41, r: 1.2 }));
  const cross = svgPath("mark", `M${card.width - 19} 38l6 6m0 -6l-6 6`);
  const frame = svg("rect", { x: card.width - 25.5, y: 34.5, width: 19, height: 13, rx: 3 });
  return svg(`g.tag ${kind}`, frame, ...(kind === "late" ? dots : [cross]));
}

/** What stands in the picture box when there is no summary. */
export function placeholder(stage: StageInfo, box: Box, style: CardStyle): SVGGElement {
  const side = Math.min(box.width, box.height) * 0.8;
  const square = rectAt(0, (box.height - side) / 2, side, side);
  const inMiddle = (mark: SVGElement): SVGGElement => movedTo(side / 2, box.height / 2, mark);
  if (stage.status === "raised") return inMiddle(svgPath("mark", "M-8 -8l16 16M8 -8l-16 16"));
  const now = style.waiting === "now";
  const lines = hatch(square.x, square.y, side, side, !now);
  if (stage.status === "not-run") return svg("g", lines, sentence("not called", square, style.measure));
  return now ? svg("g.now", lines, inMiddle(svg("circle.ring", { r: 9, pathLength: 100 }))) : lines;
}

export interface CardParts {
  readonly stage: StageInfo;
  readonly summaries: readonly Summary[];
  /** The picture, its origin at the picture box; null for a stage without a summary. */
  readonly drawing: Drawing | null;
}

/** Children of a stage's element at middle and near zoom. */
export function drawCard({ stage, summaries, drawing }: CardParts, style: CardStyle): Child[] {
  const box = pictureBox(style);
  const picture = drawing?.element ?? placeholder(stage, box, style);
  return [
    rounded(style.card),
    ...head(stage, summaries[0], style),
    svg("g.picture", { transform: `translate(${box.x} ${box.y})` }, picture),
    ...foot(stage, summaries, style),
    (style.late || style.failed) && tag(style.card, style.failed ? "failed" : "late"),
  ];
}
