/** The colours of a leaf's pictures: one rule for cards, hover card and inspector. */
import { type Range, type Scale, scaleFor, symmetricScale, WEIGHTS } from "../colour";
import type { Summary } from "../protocol";
import type { WidgetState } from "../state";

/** There is something to scrub through. */
export const isSequence = ({ frame_count, sample_count }: WidgetState): boolean =>
  frame_count.value > 1 || sample_count.value > 1;

/** `own` gives the range of the picture itself, asked for only where each picture has its own colours. */
export function leafScale(widget: WidgetState, summary: Summary | undefined, own: () => Range | null): Scale {
  if (summary?.axes_kind === "attention") return WEIGHTS;
  const rule = widget.options.value.normalisation;
  const picture = summary?.picture;
  // The codes keep the range of the first frame, statistics do not: what moves shall be the network.
  if (rule === "stage" && picture !== undefined && "low" in picture && isSequence(widget))
    return symmetricScale(picture.low, picture.high);
  return scaleFor(rule, summary?.statistics ?? null, rule === "channel" ? own() : null);
}
