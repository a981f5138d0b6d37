/** A stage under inspection, from its name down to one value. */
import { count, ofSample, shapeText, typeText } from "../../format";
import type { Graph, StageInfo, Summary } from "../../protocol";
import {
  computed,
  conditionOf,
  type ReadonlySignal,
  type Signal,
  signal,
  summariesOf,
  untracked,
  type ViewContext,
} from "../../state";
import { rectAt } from "../../viewport";
import { type Child, div, html, span, svg } from "../dom";
import { on } from "../events";
import { sparkFrame, sparkline } from "../draw/spark";
import { type Lens, lensOf } from "./lens";
import { edgeLinks } from "./links";
import { look } from "./look";
import { failureBox, noteList } from "./notes";
import { chooser, head, live, muted, remade } from "../parts";
import { histogramFigure, notFiniteAlarm, statisticsTable } from "./statistics";
import type { StageSubject } from "./subject";

const kindText = (stage: StageInfo): string =>
  typeText(stage) + (stage.parameters ? ` · ${count(stage.parameters)} parameters` : "");

/** Statistics beside the histogram, the alarm, and how the axes were read. */
function numbers(summary: Summary | null): Child[] {
  if (!summary) return [];
  const { statistics, histogram, axes, axes_reason } = summary;
  const drawn = statistics && histogram?.counts.byteLength ? histogramFigure(histogram, statistics) : null;
  const reason = axes_reason && ` · ${axes_reason}`;
  return [
    statistics && notFiniteAlarm(statistics),
    statistics && div("i-numbers", statisticsTable(statistics), drawn),
    axes.length ? html("p.i-why", span("i-code", axes.join(" × ")), reason) : null,
  ];
}

/** Everything of a lens but the order, which stays as it was while the input changes: what moves is the network. */
function lensKey(lens: Lens, leaf: string, rule: string): string {
  const { order: _, ...rest } = lens;
  return JSON.stringify([leaf, rule, rest]);
}

/** What stands in for values that have not come. */
function absence(context: ViewContext, stage: StageInfo): string {
  if (stage.status === "not-run") return "this stage did not run";
  if (stage.status === "raised") return "this stage raised: it gave no values";
  if (conditionOf(context) === "no-kernel") return "values need the kernel";
  return context.widget.overview() ? "no values for this stage" : "values are on their way";
}

interface Shown {
  readonly stage: StageInfo;
  readonly leaf: Signal<number>;
  readonly summary: ReadonlySignal<Summary | null>;
}

function leafChooser({ stage, leaf }: Shown, end: AbortSignal): HTMLElement | null {
  if (stage.leaves.length < 2) return null;
  const choices = stage.leaves.map(({ path, shape, dtype }, value) => ({
    value,
    text: `${path || "output"} · ${shapeText(shape)} · ${dtype}`,
  }));
  return div(
    "i-leaf",
    muted(`one of ${stage.leaves.length} tensors`),
    chooser("Tensor of the stage", choices, leaf, leaf.set, end),
  );
}

/** The part that depends on what kind of values there are; made anew only when that changes. */
function closer(context: ViewContext, { stage, leaf, summary }: Shown, end: AbortSignal): HTMLElement {
  const { options } = context.widget;
  const key = computed(() => {
    const now = summary();
    if (!now) return "";
    const { channel_order } = options();
    return lensKey(lensOf(now, channel_order), String(leaf()), channel_order);
  });
  const make = (scope: AbortSignal): Child[] => {
    if (!key())
      return [
        html(
          "p.i-hatch",
          live(() => absence(context, stage), scope),
        ),
      ];
    return untracked(() => {
      let before = summary()!;
      // A frame without this stage leaves the last values until the key says so.
      const held = computed(() => {
        before = summary() ?? before;
        return before;
      });
      const lens = lensOf(before, options().channel_order);
      return look({ context, stage, name: before.leaf, lens, summary: held }, scope);
    });
  };
  return remade(div("i-look"), make, end);
}

/** The mean over the frames seen, large enough to be aimed at. */
function course({ widget }: ViewContext, { id }: StageInfo, end: AbortSignal): HTMLElement {
  const [width, height] = [300, 46];
  const draw = (): Child[] => {
    const spark = sparkline(widget, id, rectAt(4, 6, width - 8, height - 12));
    if (!spark) return [];
    return [muted("mean in the frames seen"), svg("svg", { width, height }, spark)];
  };
  const element = remade(div("i-course"), draw, end);
  const go = (event: MouseEvent): void => {
    const frame = sparkFrame(event.target as Element, event);
    if (frame !== null) widget.write("frame", frame);
  };
  on(element, "click", go, end);
  return element;
}

export function stageView(context: ViewContext, graph: Graph, subject: StageSubject, end: AbortSignal): Child[] {
  const { stage, notes } = subject;
  const { widget } = context;
  const leaf = signal(0);
  const summary = computed(() => {
    const all = summariesOf(widget, stage.id);
    const path = stage.leaves[leaf()]?.path;
    return all.find((one) => one.leaf === path) ?? all[leaf()] ?? null;
  });
  const shown: Shown = { stage, leaf, summary };
  const shape = (): string => {
    const info = stage.leaves[leaf()] ?? summary();
    return info ? ofSample(info.shape, summary()?.axes) : "";
  };
  const failed = stage.status === "raised" && graph.failure ? failureBox(graph.failure) : null;
  const figures = remade(html("div"), () => numbers(summary()), end);
  const links = edgeLinks(context, subject, graph.stages, end);
  return [
    head(
      stage.label,
      stage.path === stage.label ? null : stage.path,
      span("i-type", kindText(stage)),
      span("i-space"),
      html("code.i-shape", live(shape, end)),
    ),
    div("i-facts-of", leafChooser(shown, end), links, failed, figures, course(context, stage, end), noteList(notes)),
    closer(context, shown, end),
  ];
}
