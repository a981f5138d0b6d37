/** Where in the input picture a spot of a feature map lies: the same place, relative to width and height. */
import { px } from "../../format";
import { ancestors, indexGraph } from "../../graph";
import type { Picture } from "../../protocol";
import { computed, picturesOf, type ReadonlySignal, type ViewContext, watch } from "../../state";
import { photoBitmap, putBitmap } from "../canvas";
import { DECORATION, div, html, setChildren, svg, svgPath } from "../dom";
import { muted } from "../parts";
import { boxOf } from "./plate";

type Photo = Extract<Picture, { kind: "photo" }>;

/** A cell of a map, as parts of its height and width. */
export interface Place {
  readonly top: number;
  readonly left: number;
  readonly height: number;
  readonly width: number;
}

/** The first photo among the inputs that a stage's values come from. */
function photoFor({ widget }: ViewContext, stage: string): Photo | undefined {
  const graph = widget.graph();
  const before = graph && ancestors(indexGraph(graph), stage).add(stage);
  return picturesOf(widget, "photo", ({ id, kind }) => kind === "input" && before!.has(id))[0];
}

const MOST = 92;
/** A place smaller than this is framed as if it were as large. */
const LEAST = 5;

function frame({ top, left, height, width }: Place, box: readonly [number, number]): SVGElement[] {
  const [w, h] = [Math.max(LEAST, width * box[0]), Math.max(LEAST, height * box[1])];
  const [x, y] = [(left + width / 2) * box[0] - w / 2 - 1, (top + height / 2) * box[1] - h / 2 - 1];
  const d = px`M${x} ${y}h${w + 2}v${h + 2}h${-w - 2}z`;
  return [svgPath("i-cross-paper", d), svgPath("i-cross-ink", d)];
}

/** Hidden while no input of the stage is a photo. */
export function atInput(
  context: ViewContext,
  stage: string,
  place: ReadonlySignal<Place>,
  end: AbortSignal,
): HTMLElement {
  const { view } = context;
  const photo = computed(() => photoFor(context, stage));
  const canvas = html("canvas.i-photo-picture", { role: "img", label: "The place in the input picture" });
  const marks = svg("svg", DECORATION);
  const figure = div("i-photo", canvas, marks);
  const meaning = "the same relative place: what the value depends on is wider";
  const all = div("i-input", { title: meaning }, muted("at input"), figure);
  watch(end, () => {
    const shown = photo();
    all.hidden = !shown;
    if (!shown) return;
    const [width, height] = boxOf([shown.rows, shown.columns], MOST);
    putBitmap(canvas, photoBitmap(shown, { width, height, ratio: view.ratio() }), width, height);
  });
  watch(end, () => {
    const shown = photo();
    if (!shown) return;
    const box = boxOf([shown.rows, shown.columns], MOST);
    marks.setAttribute("viewBox", `0 0 ${box[0]} ${box[1]}`);
    setChildren(marks, frame(place(), box));
  });
  return all;
}
