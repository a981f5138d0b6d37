/** Volumes: the grid shows every channel cut at the chosen place, the plate one of them; the cut can be moved. */
import type { StageInfo } from "../../protocol";
import { computed, type ReadonlySignal, type Signal, signal, watch } from "../../state";
import { html, on } from "../dom";
import { copyLine } from "./copy";
import { codedOverview, cutSize, known, type Leaf, request, scaleOf, within } from "./detail";
import type { Fact } from "./facts";
import { grid, TILE_VALUES } from "./grid";
import type { VolumeLens } from "./lens";
import { partText, PLATE, zText } from "./maps";
import { chooser, live, remade } from "../parts";
import { boxOf } from "./plate";
import { expressionOf } from "./python";
import { askWhole, read } from "./reading";
import { scope, scopeTitle, settle } from "./scope";
import { best, type Spot } from "./slice";

/** [place among the three spatial axes, index along it]. */
export type CutPlace = readonly [axis: number, index: number];

export interface VolumeSource {
  readonly leaf: Leaf;
  readonly lens: VolumeLens;
  readonly stage: StageInfo;
  readonly cut: Signal<CutPlace>;
  readonly picked: ReadonlySignal<number>;
  pick(item: number): void;
}

const channelOf = (lens: VolumeLens, item: number): number | null => (lens.axes.item.length ? item : null);

/** Where the overview was cut first: through the peak. */
export function firstCut(leaf: Leaf, lens: VolumeLens): CutPlace {
  const { picture } = leaf.summary.peek();
  const plane = picture.kind === "volume" ? picture.planes[0] : undefined;
  return plane ? [plane.axis, plane.index] : [0, Math.floor(lens.size[0] / 2)];
}

/** The axis to cut across, and a scroller along it. */
export function cutChooser({ lens, cut }: VolumeSource, end: AbortSignal): HTMLElement {
  const axis = computed(() => cut()[0]);
  const choices = lens.names.map((name, value) => ({ value, text: name }));
  const middle = (along: number): number => Math.floor((lens.size[along] ?? 1) / 2);
  const choose = (along: number): void => cut.set([along, middle(along)]);
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
  const place = computed(() => `${cut()[1]} of ${lens.size[cut()[0]]}`);
  return html(
    "div.i-cut",
    html("span.i-muted", "slice along"),
    chooser("Axis to cut across", choices, axis, choose, end),
    range,
    html("span.i-code", live(place, end)),
  );
}

export function volumeGrid(source: VolumeSource, end: AbortSignal): HTMLElement {
  const { leaf, lens, cut, picked, pick } = source;
  const axis = computed(() => cut()[0]);
  const remake = (scope: AbortSignal) => {
    const size = cutSize(lens.size, axis());
    const bound = within(size, TILE_VALUES);
    const ask = (item: number) => request(leaf, { channel: channelOf(lens, item), slice: cut(), size: bound });
    const coded = (item: number) => codedOverview(leaf.summary(), item, cut());
    const slice = (item: number) => best(known(leaf, ask(item), size), coded(item));
    const { context } = leaf;
    const scale = scaleOf.bind(null, leaf);
    return [
      grid({ context, items: lens.order, item: lens.item, size, slice, request: ask, scale, picked, pick }, scope),
    ];
  };
  return remade(html("div"), remake, end);
}

export function volumeScope(source: VolumeSource, end: AbortSignal): HTMLElement {
  const axis = computed(() => source.cut()[0]);
  return remade(html("div"), (scoped) => cutScope(source, axis(), scoped), end);
}

function cutScope({ leaf, lens, stage, cut, picked }: VolumeSource, axis: number, end: AbortSignal): HTMLElement[] {
  const size = cutSize(lens.size, axis);
  const names = lens.names.filter((_, place) => place !== axis) as unknown as readonly [string, string];
  const spot = signal<Spot>({ row: 0, column: 0 });
  const part = computed(() => `${partText(lens.item, picked())}, ${lens.names[axis]} ${cut()[1]}`);
  const ask = computed(() => askWhole(leaf, size, { channel: channelOf(lens, picked()), slice: cut() }));
  const coded = computed(() => codedOverview(leaf.summary(), picked(), cut()));
  const reading = read({ leaf, size, spot, ask, coded }, end);
  settle(spot, reading.slice, end);
  const facts = computed<Fact[]>(() => {
    const { row, column } = spot();
    const place: Fact[] = [
      [lens.names[axis]!, String(cut()[1])],
      [names[0], String(row)],
      [names[1], String(column)],
    ];
    const [value, slice] = [reading.value(), reading.slice()];
    return value !== null && slice?.exact ? [...place, ["z in slice", zText(value, slice)]] : place;
  });
  const position = ({ row, column }: Spot): number[] => {
    const at = [row, column];
    at.splice(axis, 0, cut.peek()[1]);
    return at;
  };
  const expression = computed(() => expressionOf(leaf, stage, { item: picked(), slice: cut(), ...spot() }));
  return [
    scopeTitle(part, reading, end),
    scope({ leaf, reading, size, box: boxOf(size, PLATE), spot, part, names, facts, position }, end),
    copyLine(expression, end),
  ];
}
