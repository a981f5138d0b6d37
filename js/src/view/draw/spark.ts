/** A line through the means of a stage in the frames seen, with a dot at the frame that is shown; a click leads there. */
import { brief, px } from "../../format";
import type { WidgetState } from "../../state";
import { svg, svgPath, svgRect } from "../dom";
import { pointerOn } from "../events";
import type { Cell } from "./plan";

/** Null before two frames were seen. Reads the state. */
export function sparkline(widget: WidgetState, stage: string, cell: Cell): SVGGElement | null {
  const means = widget.history().get(stage);
  if (!means || means.size < 2) return null;
  const { x, y, width, height } = cell;
  const seen = [...means].sort(([a], [b]) => a - b);
  const values = [...means.values()];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const last = Math.max(1, widget.frame_count() - 1);
  const across = (frame: number): number => x + (frame / last) * width;
  const down = (mean: number): number => y + (high > low ? (high - mean) / (high - low) : 0.5) * height;
  const place = (frame: number, mean: number): string => px`${across(frame)} ${down(mean)}`;
  // Thousands of frames make no more points than there are pixels.
  const points = new Map(seen.map(([frame, mean]) => [Math.round(across(frame)), place(frame, mean)]));
  const shown = widget.overview()?.frame ?? 0;
  const here = means.get(shown);
  const words = `Mean in the ${seen.length} frames seen: ${brief(low)} to ${brief(high)}; click to go there`;
  return svg(
    "g.spark",
    { "data-last": last },
    svg("title", words),
    svgRect("hit", x, y - 2, width, height + 4),
    svg("path", { d: `M${[...points.values()].join("L")}` }),
    here !== undefined && svgPath("spark-here", `M${place(shown, here)}h0`),
  );
}

/** The frame under a click on a sparkline; null where the click was elsewhere. */
export function sparkFrame(target: Element, event: Pick<MouseEvent, "clientX" | "clientY">): number | null {
  const spark = target.closest(".nf-spark");
  const area = spark?.querySelector("rect");
  if (!spark || !area) return null;
  const { x, width } = pointerOn(area, event);
  return Math.round(Math.max(0, Math.min(1, x / width)) * Number(spark.getAttribute("data-last")));
}
