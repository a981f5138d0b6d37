/** What is known of the stages now, what can be asked of the kernel, and how it is doing. */
import { needKernel } from "./format";
import type { Picture, StageInfo, Status, Summary, TileRequest } from "./protocol";
import type { ViewContext, WidgetState } from "./state";
import { tileKey } from "./wire";

const NONE: readonly Summary[] = [];

/** What is known of the leaves of a stage. */
export const summariesOf = ({ overview }: Pick<WidgetState, "overview">, stage: string): readonly Summary[] =>
  overview()?.stages[stage] ?? NONE;

/** Pictures of one kind, of stages that are asked for, in the order of execution. */
export function picturesOf<K extends Picture["kind"]>(
  widget: Pick<WidgetState, "graph" | "overview">,
  kind: K,
  asked: (stage: StageInfo) => boolean,
): Extract<Picture, { kind: K }>[] {
  const stages = (widget.graph()?.stages ?? []).filter(asked);
  const pictures = stages.flatMap(({ id }) => summariesOf(widget, id)).map(({ picture }) => picture);
  return pictures.filter((picture) => picture.kind === kind) as Extract<Picture, { kind: K }>[];
}

/** Why a control is off that asks the kernel for something; "" where there is a kernel. */
export const lacking = ({ kernel }: Pick<WidgetState, "kernel">, what: string): string =>
  kernel ? "" : needKernel(what);

/** A request for a slice of what is shown now (the overview's frame and sample, values or differences), with its key. */
export function requestFor(
  widget: WidgetState,
  stage: string,
  leaf: string,
  part: Partial<Pick<TileRequest, "channel" | "slice" | "region" | "size">>,
): TileRequest {
  const overview = widget.overview();
  const shown = summariesOf(widget, stage).find((summary) => summary.leaf === leaf);
  const request = {
    frame: overview?.frame ?? 0,
    reference: shown?.reference ?? null,
    sample: overview?.sample ?? 0,
    stage,
    leaf,
    channel: part.channel ?? null,
    slice: part.slice ?? null,
    region: part.region ?? null,
    size: part.size ?? null,
  };
  return { ...request, key: tileKey(widget.graph()?.trace ?? "", request) };
}

/** The two requests of which a difference is made: for the values here, and in the reference frame. */
export function pairOf(widget: WidgetState, request: TileRequest): readonly TileRequest[] {
  return request.reference === null
    ? []
    : [request.frame, request.reference].map((frame) => {
        const plain = { ...request, frame, reference: null };
        return { ...plain, key: tileKey(widget.graph()?.trace ?? "", plain) };
      });
}

/** Value of `data-state`. */
export type Condition = Status["state"] | "no-kernel";

export function conditionOf({ widget, interest }: Pick<ViewContext, "widget" | "interest">): Condition {
  if (widget.problem()) return "error";
  if (!widget.kernel) return "no-kernel";
  const { state, error, beat } = widget.status();
  if (beat !== widget.dismissed()) {
    if (state === "stale") return "stale";
    if (error || state === "error") return "error";
  }
  if (interest.silent()) return "no-kernel";
  if (state === "busy" || state === "waiting") return state;
  if (interest.slow()) return "waiting";
  return widget.graph()?.failure ? "error" : "idle";
}
