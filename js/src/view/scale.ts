/** The colours of a leaf's pictures: one rule for cards, hover card and inspector. */
import { type Range, type Scale, scaleFor, symmetricScale, WEIGHTS } from "../colour";
import type { Summary } from "../protocol";
import type { WidgetState } from "../state";

/** There is something to scrub through. */
export const isSequence = ({ frame_count, sample_count }: WidgetState): boolean =>
  frame_count() > 1 || sample_count() > 1;

/** `own` gives the range of the picture itself, asked for only where each picture has its own colours. */
export function leafScale(widget: WidgetState, summary: Summary | undefined, own: () => Range | null): Scale {
  const differs = summary != null && summary.reference !== null;
  if (summary?.axes_kind === "attention" && !differs) return WEIGHTS;
  const rule = widget.options().normalisation;
  if (typeof rule !== "string" && differs) return symmetricScale(...rule);
  // The scale keeps the range of the first frame, statistics do not: what moves shall be the network.
  if (rule === "stage" && summary && isSequence(widget)) return symmetricScale(...summary.scale);
  return scaleFor(rule, summary?.statistics ?? null, rule === "channel" ? own() : null);
}
