/** What the parts of the graph pane share. */
import type { GraphIndex } from "../graph";
import type { Card, Layout } from "../layout/types";
import type { ReadonlySignal, Signal, ViewContext } from "../state";
import type { Cell } from "./draw/plan";
import type { Measure } from "./draw/text";
import type { PictureStyle, Placed } from "./draw/tiles";

/** The slices on a stage's card, and the picture box that their places count from. */
export interface StagePicture {
  readonly leaf: string;
  readonly box: Cell;
  readonly placed: readonly Placed[];
  /** The values behind the slices, and their colours. */
  readonly style: Pick<PictureStyle, "planeFor" | "scaleFor" | "table">;
}

export interface Pane extends ViewContext {
  readonly index: ReadonlySignal<GraphIndex>;
  /** Null while there is no graph or no room. */
  readonly layout: ReadonlySignal<Layout | null>;
  readonly cards: ReadonlySignal<ReadonlyMap<string, Card>>;
  /** Stages of which some part is on the canvas. */
  readonly visible: ReadonlySignal<ReadonlySet<string>>;
  /** Zoom in steps, to know how much text fits: rare enough not to redraw at every turn of the wheel. */
  readonly step: ReadonlySignal<number>;
  /** Device pixels per unit of layout, rounded up to a power of two. */
  readonly density: ReadonlySignal<number>;
  readonly measure: Measure;
  /** What each stage shows at this moment; written by the stages, read by what follows the pointer. */
  readonly pictures: Map<string, StagePicture>;
  /** Grows whenever `pictures` has changed. */
  readonly repainted: Signal<number>;
  /** The elements of the stages. */
  readonly elements: Map<string, SVGGElement>;
  /** Puts the keyboard on a stage. */
  focusStage(id: string): void;
}

/** What the reader knows a stage by. */
export const stageLabel = ({ index }: Pick<Pane, "index">, id: string): string => index().stages.get(id)?.label ?? id;

/** `value`, or the one before while `same` says that they are equal: spares the effects that read it. */
export function steadyValue<T>(same: (a: T, b: T) => boolean): (value: T) => T {
  let before: T | undefined;
  return (value) => {
    if (before === undefined || !same(before, value)) before = value;
    return before;
  };
}

export function sameSet<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): boolean {
  return a.size === b.size && [...a].every((each) => b.has(each));
}
