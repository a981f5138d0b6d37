/** The three directions in which the channels of maps vary most, as red, green and blue. */
import { watch } from "../../state";
import { type Bitmap, blank, putBitmap } from "../canvas";
import { html } from "../dom";
import { heading } from "../parts";
import { known, type Leaf, request, within } from "./detail";
import { boxOf } from "./plate";
import { type Moments, momentsOf, type Slice } from "./slice";

/** CSS px of the longer side; values along it. */
const [SIDE, MOST] = [160, 320];
const COLOURS = [0, 1, 2] as const;

type Range = Pick<Moments, "mean" | "std">;

/** Each component around its mean, as far as two standard deviations: a few outliers shall not leave the rest dark. */
function bitmapOf(slices: readonly Slice[], ranges: readonly Range[]): Bitmap {
  const { rows, columns } = slices[0]!;
  const bitmap = blank(columns, rows);
  slices.forEach(({ values }, k) => {
    const { mean, std } = ranges[k]!;
    values.forEach((value, i) => {
      bitmap.rgba[i * 4 + k] = ((value - mean) / (std || 1) / 4 + 0.5) * 255;
    });
  });
  return bitmap;
}

/** Hidden until the kernel has sent them. */
export function composite(leaf: Leaf, size: readonly [number, number], end: AbortSignal): HTMLElement {
  const { context } = leaf;
  const components = { ...leaf, name: `${leaf.name} pca`.trim() };
  const canvas = html("canvas", { role: "img", label: "Principal components of the channels" });
  const title = heading("Components", "the first three, as red, green and blue");
  const whole = html("section.i-section i-composite", title, canvas);
  const claim = context.interest.claim(end);
  const [width, height] = boxOf(size, SIDE);
  let first: readonly Range[] | null = null;
  watch(end, () => {
    const wanted = COLOURS.map((channel) => request(components, { channel, size: within(size, MOST) }));
    claim.want(wanted);
    const slices = wanted.flatMap((each) => known(components, each, size) ?? []);
    // The former picture stays while the next one is on its way.
    if (slices.length === COLOURS.length) {
      const own = slices.map(({ values }) => momentsOf(values));
      first ??= own;
      const ranges = context.widget.options().hold_colours ? first : own;
      putBitmap(canvas, bitmapOf(slices, ranges), width, height);
    }
    whole.hidden = !canvas.style.width;
  });
  return whole;
}
