/** Tokens: their features over the patch grid where there is one, and the whole matrix of tokens × features. */
import type { StageInfo } from "../../protocol";
import { computed, type ReadonlySignal, type Signal, signal, watch } from "../../state";
import { type Child, html, on, setAttributes } from "../dom";
import { copyLine } from "./copy";
import { closely, codedFeature, codedOverview, known, type Leaf, scaleOf, WHOLE_LIMIT } from "./detail";
import type { Fact } from "./facts";
import { grid } from "./grid";
import { LABEL_WIDTH, rowLabels } from "./labels";
import type { TokensLens } from "./lens";
import { PLATE, zText } from "./maps";
import { atInput } from "./place";
import { boxOf } from "./plate";
import { expressionOf } from "./python";
import { type Ask, askWhole, read } from "./reading";
import { scope, scopeTitle, settle } from "./scope";
import { overGrid, type Slice, type Spot } from "./slice";

export interface TokensSource {
  readonly leaf: Leaf;
  readonly lens: TokensLens;
  readonly stage: StageInfo;
  readonly picked: ReadonlySignal<number>;
  pick(item: number): void;
}

/** All features in one piece, or, where that is too much, this one over the patch grid. */
function askFeature({ leaf, lens }: TokensSource, feature: number): Ask {
  const [tokens, features] = lens.size;
  if (tokens * features <= WHOLE_LIMIT) return askWhole(leaf, lens.size, {});
  return askWhole(leaf, lens.grid!, { channel: feature });
}

/** The feature over the patch grid, from what `askFeature` brought: all tokens, or the grid itself. */
const featureOf = (asked: Slice, lens: TokensLens, feature: number): Slice =>
  asked.size[0] === lens.size[0] && asked.size[1] === lens.size[1]
    ? overGrid(asked, feature, lens.grid!, lens.special)
    : asked;

/** Only for tokens with a patch grid. */
export function tokensGrid(source: TokensSource, end: AbortSignal): HTMLElement {
  const { leaf, lens, picked, pick } = source;
  const whole = lens.size[0] * lens.size[1] <= WHOLE_LIMIT;
  if (whole) {
    const claim = leaf.context.interest.claim(end);
    watch(end, () => claim.want([closely(leaf, lens.size, {})]));
  }
  const slice = (feature: number): Slice | null => {
    const ask = askFeature(source, feature);
    const asked = known(leaf, ask.request, ask.size);
    return asked ? featureOf(asked, lens, feature) : codedFeature(leaf.summary(), feature);
  };
  return grid(
    {
      context: leaf.context,
      items: lens.order,
      item: lens.item,
      size: lens.grid!,
      slice,
      request: whole ? null : (feature) => askFeature(source, feature).request,
      scale: (shown) => scaleOf(leaf, shown),
      picked,
      pick,
    },
    end,
  );
}

/** One feature over the patches. */
export function featureScope(source: TokensSource, end: AbortSignal): readonly Child[] {
  const { leaf, lens, stage, picked } = source;
  const size = lens.grid!;
  const spot = signal<Spot>({ row: 0, column: 0 });
  const part = computed(() => `${lens.item} ${picked()}`);
  const ask = computed(() => askFeature(source, picked()));
  const coded = computed(() => codedFeature(leaf.summary(), picked()));
  const derive = (asked: Slice): Slice => featureOf(asked, lens, picked());
  const reading = read({ leaf, size, spot, ask, coded, derive }, end);
  settle(spot, reading.slice, end);
  const token = computed(() => lens.special + spot().row * size[1] + spot().column);
  const facts = computed<Fact[]>(() => {
    const { row, column } = spot();
    const place: Fact[] = [
      ["patch", `y ${row} x ${column}`],
      [lens.rowName, String(token())],
    ];
    const [value, slice] = [reading.value(), reading.slice()];
    return value !== null && slice?.exact ? [...place, [`z in ${lens.item}`, zText(value, slice)]] : place;
  });
  const place = computed(() => {
    const [height, width] = [1 / size[0], 1 / size[1]];
    return { top: spot().row * height, left: spot().column * width, height, width };
  });
  const expression = computed(() => expressionOf(leaf, stage, { item: null, row: token(), column: picked() }));
  const position = ({ row, column }: Spot): number[] => [row, column];
  const extras = { under: atInput(leaf.context, leaf.stage, place, end) };
  const names = ["y", "x"] as const;
  return [
    scopeTitle(part, reading, end),
    scope({ leaf, reading, size, box: boxOf(size, PLATE), spot, part, names, facts, position, extras }, end),
    copyLine(expression, end),
  ];
}

const MATRIX_WIDTH = 363;
/** Between the labels and the matrix. */
const GAP = 10;
/** Height of a row that has room for its label, and of the whole matrix, CSS px. */
const ROW = 14;
const MATRIX_HEIGHT = 224;
const BUTTONS = 16;

/** CSS px of the matrix: rows as high as their labels while all fit, never thinner than a quarter px. */
function matrixBox([tokens]: readonly [number, number], labelled: boolean): readonly [number, number] {
  const height = Math.min(tokens * ROW, MATRIX_HEIGHT);
  return [MATRIX_WIDTH - (labelled ? LABEL_WIDTH + GAP : 0), Math.max(ROW, height)];
}

/** The features that vary most, as buttons that put the crosshair on them. */
export function featureButtons({ lens }: TokensSource, spot: Signal<Spot>, end: AbortSignal): HTMLElement {
  const buttons = lens.order
    .slice(0, BUTTONS)
    .map((feature) => html("button.i-button", { "data-feature": feature }, String(feature)));
  for (const button of buttons)
    watch(end, () =>
      setAttributes(button, { "aria-pressed": String(Number(button.dataset.feature) === spot().column) }),
    );
  const list = html("div.i-chips", { role: "group", "aria-label": `Ranked ${lens.item}s` }, ...buttons);
  on<HTMLElement, MouseEvent>(
    list,
    "click",
    (event) => {
      const feature = (event.target as Element).closest<HTMLElement>("[data-feature]")?.dataset.feature;
      if (feature !== undefined) spot.set({ ...spot.peek(), column: Number(feature) });
    },
    end,
  );
  return list;
}

/** Every token, every feature. */
export function matrixScope(source: TokensSource, spot: Signal<Spot>, end: AbortSignal): readonly Child[] {
  const { leaf, lens, stage } = source;
  const labelled = lens.labels.length === lens.size[0] && lens.size[0] * ROW <= MATRIX_HEIGHT;
  const part = computed(() => `${lens.rowName} ${spot().row}, ${lens.item} ${spot().column}`);
  const ask = computed(() => askWhole(leaf, lens.size, {}));
  const coded = computed(() => codedOverview(leaf.summary(), null));
  const reading = read({ leaf, size: lens.size, spot, ask, coded }, end);
  settle(spot, reading.slice, end);
  const facts = computed<Fact[]>(() => {
    const { row, column } = spot();
    const label = lens.labels[row];
    return [
      [lens.rowName, label === undefined ? String(row) : `${row} “${label}”`],
      [lens.item, String(column)],
    ];
  });
  const expression = computed(() => expressionOf(leaf, stage, { item: null, row: spot().row, column: spot().column }));
  const position = ({ row, column }: Spot): number[] => [row, column];
  const extras = labelled ? { left: rowLabels(lens.labels, spot, end) } : {};
  const names = [lens.rowName, lens.item] as const;
  const box = matrixBox(lens.size, labelled);
  return [
    scopeTitle(part, reading, end),
    scope({ leaf, reading, size: lens.size, box, spot, part, names, facts, position, extras, wide: true }, end),
    copyLine(expression, end),
  ];
}
