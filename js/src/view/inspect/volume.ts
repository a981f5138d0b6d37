/** Volumes: the grid shows every channel cut at the chosen place, the plate one of them; the cut can be moved. */
import { computed, type Signal, signal, watch } from "../../state";
import { div, html, span } from "../dom";
import { on } from "../events";
import { chooser, live, muted, remade } from "../parts";
import { closeUp } from "./closeup";
import { cutSize, type Leaf } from "./detail";
import type { VolumeLens } from "./lens";
import { channelOf, itemsGrid, ORIGIN, type Picking, partText, zFact } from "./maps";

/** [place among the three spatial axes, index along it]. */
export type CutPlace = readonly [axis: number, index: number];

export interface VolumeSource extends Picking<VolumeLens> {
  readonly cut: Signal<CutPlace>;
}

/** Where the overview was cut first: through the peak. */
export function firstCut(leaf: Leaf, lens: VolumeLens): CutPlace {
  const { picture } = leaf.summary.peek();
  const plane = picture.kind === "volume" && picture.planes[0];
  return plane ? [plane.axis, plane.index] : [0, Math.floor(lens.size[0] / 2)];
}

/** The axis to cut across, and a scroller along it. */
export function cutChooser({ lens, cut }: VolumeSource, end: AbortSignal): HTMLElement {
  const choices = lens.names.map((text, value) => ({ value, text }));
  const choose = (along: number): void => cut.set([along, Math.floor((lens.size[along] ?? 1) / 2)]);
  const range = html("input.i-scroller", { type: "range", min: 0, step: 1 });
  watch(end, () => {
    const [along, index] = cut();
    range.max = String((lens.size[along] ?? 1) - 1);
    range.value = String(index);
    range.setAttribute("aria-label", `Index along ${lens.names[along]}`);
  });
  on(range, "input", () => cut.set([cut.peek()[0], Number(range.value)]), end);
  // Arrow keys are the scroller's own here, not the graph's.
  on(range, "keydown", (event) => event.stopPropagation(), end);
  return div(
    "i-cut",
    muted("slice along"),
    chooser("Axis to cut across", choices, () => cut()[0], choose, end),
    range,
    span(
      "i-code",
      live(() => `${cut()[1]} of ${lens.size[cut()[0]]}`, end),
    ),
  );
}

/** What is made anew for each axis that is cut across. */
function cutAcross(
  { cut }: VolumeSource,
  make: (axis: number, scope: AbortSignal) => ReturnType<typeof closeUp>,
  end: AbortSignal,
): HTMLElement {
  const axis = computed(() => cut()[0]);
  return remade(html("div"), (scope) => make(axis(), scope), end);
}

export const volumeGrid = (source: VolumeSource, end: AbortSignal): HTMLElement =>
  cutAcross(source, (axis, scope) => [itemsGrid(source, cutSize(source.lens.size, axis), scope, source.cut)], end);

export const volumeScope = (source: VolumeSource, end: AbortSignal): HTMLElement =>
  cutAcross(source, (axis, scope) => cutScope(source, axis, scope), end);

function cutScope({ leaf, lens, cut, picked }: VolumeSource, axis: number, end: AbortSignal) {
  const names = lens.names.filter((_, place) => place !== axis) as unknown as readonly [string, string];
  const spot = signal(ORIGIN);
  const along = lens.names[axis]!;
  return closeUp(
    {
      leaf,
      size: cutSize(lens.size, axis),
      spot,
      names,
      part: () => `${partText(lens.item, picked())}, ${along} ${cut()[1]}`,
      ask: () => ({ channel: channelOf(lens, picked()), slice: cut() }),
      facts: (reading) => [
        [along, cut()[1]],
        [names[0], spot().row],
        [names[1], spot().column],
        ...zFact("slice", reading),
      ],
      cut: () => ({ item: picked(), slice: cut(), ...spot() }),
      position: ({ row, column }) => {
        const at = [row, column];
        at.splice(axis, 0, cut.peek()[1]);
        return at;
      },
    },
    end,
  );
}
