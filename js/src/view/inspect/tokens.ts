/** Tokens: their features over the patch grid where there is one, and the whole matrix of tokens × features. */
import { computed, type Signal, signal, watch } from "../../state";
import { type Child, div, html, setAttributes } from "../dom";
import { onChoice } from "../events";
import { closeUp } from "./closeup";
import { closely, codedFeature, known, WHOLE_LIMIT } from "./detail";
import { grid } from "./grid";
import { LABEL_WIDTH, rowLabels } from "./labels";
import type { TokensLens } from "./lens";
import { cellAt, ORIGIN, type Picking, zFact } from "./maps";
import { atInput } from "./place";
import { overGrid, type Slice, type Spot } from "./slice";

export type TokensSource = Picking<TokensLens>;

/** All features travel in one piece, or, where that is too much, each over the patch grid. */
const inOnePiece = ({ size }: TokensLens): boolean => size[0] * size[1] <= WHOLE_LIMIT;

/** Only for tokens with a patch grid. */
export function tokensGrid({ leaf, lens, ...choice }: TokensSource, end: AbortSignal): HTMLElement {
  const size = lens.grid!;
  const whole = inOnePiece(lens);
  const asked = whole ? lens.size : size;
  const ask = (feature: number) => closely(leaf, asked, whole ? {} : { channel: feature });
  if (whole) {
    const claim = leaf.context.interest.claim(end);
    watch(end, () => claim.want([ask(0)]));
  }
  const slice = (feature: number): Slice | null => {
    const found = known(leaf, ask(feature), asked);
    if (!found) return codedFeature(leaf.summary(), feature);
    return whole ? overGrid(found, feature, size, lens.special) : found;
  };
  return grid({ leaf, size, slice, request: whole ? null : ask, ...choice }, end);
}

/** One feature over the patches. */
export function featureScope({ leaf, lens, picked }: TokensSource, end: AbortSignal): readonly Child[] {
  const size = lens.grid!;
  const whole = inOnePiece(lens);
  const spot = signal(ORIGIN);
  const token = (): number => lens.special + spot().row * size[1] + spot().column;
  const place = computed(() => cellAt(spot(), size));
  const derive = (asked: Slice): Slice => overGrid(asked, picked(), size, lens.special);
  return closeUp(
    {
      leaf,
      size,
      spot,
      part: () => `${lens.item} ${picked()}`,
      ask: () => (whole ? {} : { channel: picked() }),
      ...(whole && { derived: { size: lens.size, derive } }),
      coded: () => codedFeature(leaf.summary(), picked()),
      facts: (reading) => [
        ["patch", `y ${spot().row} x ${spot().column}`],
        [lens.rowName, token()],
        ...zFact(lens.item, reading),
      ],
      cut: () => ({ item: null, row: token(), column: picked() }),
      under: atInput(leaf.context, leaf.stage.id, place, end),
    },
    end,
  );
}

const MATRIX_WIDTH = 363;
/** Between the labels and the matrix. */
const GAP = 10;
/** Height of a row that has room for its label, and of the whole matrix, CSS px. */
const ROW = 14;
const MATRIX_HEIGHT = 224;
const BUTTONS = 16;

/** The features that vary most, as buttons that put the crosshair on them. */
export function featureButtons({ lens }: TokensSource, spot: Signal<Spot>, end: AbortSignal): HTMLElement {
  const buttons = lens.order.slice(0, BUTTONS).map((feature) => {
    const button = html("button.i-button", { "data-feature": feature }, feature);
    watch(end, () => setAttributes(button, { "aria-pressed": feature === spot().column }));
    return button;
  });
  const list = div("i-chips", { role: "group", label: `Ranked ${lens.item}s` }, ...buttons);
  onChoice(list, "feature", (column) => spot.set({ ...spot.peek(), column }), end);
  return list;
}

/** Every token, every feature. Rows are as high as their labels while all fit. */
export function matrixScope({ leaf, lens }: TokensSource, spot: Signal<Spot>, end: AbortSignal): readonly Child[] {
  const { size, labels, rowName, item } = lens;
  const labelled = labels.length === size[0] && size[0] * ROW <= MATRIX_HEIGHT;
  return closeUp(
    {
      leaf,
      size,
      box: [MATRIX_WIDTH - (labelled ? LABEL_WIDTH + GAP : 0), Math.max(ROW, Math.min(size[0] * ROW, MATRIX_HEIGHT))],
      spot,
      part: () => `${rowName} ${spot().row}, ${item} ${spot().column}`,
      ask: () => ({}),
      facts: () => {
        const { row, column } = spot();
        return [
          [rowName, labels[row] === undefined ? row : `${row} “${labels[row]}”`],
          [item, column],
        ];
      },
      cut: () => ({ item: null, ...spot() }),
      left: labelled && rowLabels(labels, spot, end),
      names: [rowName, item],
      wide: true,
    },
    end,
  );
}
