/** One slice, large, with a crosshair that pointer and arrow keys move. */
import { colourTable, type Scale } from "../../colour";
import { type ReadonlySignal, type Signal, type ViewContext, type ViewState, watch } from "../../state";
import { paintPlane } from "../canvas";
import { DECORATION, div, figure, html, setAttributes, setChildren, svgPath } from "../dom";
import { on, onKeys, pointerOn } from "../events";
import { clampSpot, type Slice, type Spot } from "./slice";

export interface PlateSource {
  readonly context: ViewContext;
  /** Rows and columns of the slice. */
  readonly size: readonly [number, number];
  /** Width and height on screen, CSS px. */
  readonly box: readonly [number, number];
  readonly slice: ReadonlySignal<Slice | null>;
  readonly scale: ReadonlySignal<Scale>;
  readonly spot: Signal<Spot>;
  /** Accessible name. */
  label(): string;
  /** The spot under the pointer; null when it has left. */
  readonly hover: (spot: Spot | null) => void;
  /** A frame around a row of cells instead of a cross: the weights of one query. */
  readonly rowOnly: boolean;
}

/** Width and height of a slice on screen: `most` along its longer side, no side under `least`. */
export function boxOf([rows, columns]: readonly [number, number], most: number, least = 24): readonly [number, number] {
  const longest = Math.max(rows, columns, 1);
  const side = (count: number): number => Math.max(least, Math.round((most * count) / longest));
  return [side(columns), side(rows)];
}

/** Paints what is known of a slice; nothing yet: the former picture stays, marked, while the next one is on its way. */
export function paintSlice(
  frame: HTMLElement,
  canvas: HTMLCanvasElement,
  slice: Slice | null,
  scale: () => Scale,
  { theme, ratio }: ViewState,
  [width, height]: readonly [number, number],
): void {
  frame.toggleAttribute("data-waiting", !slice);
  if (slice) paintPlane(canvas, slice, { scale: scale(), table: colourTable(theme()), width, height, ratio: ratio() });
  else canvas.removeAttribute("data-exact");
}

export function plate(source: PlateSource, end: AbortSignal): HTMLElement {
  const { context, slice, box } = source;
  const [width, height] = box;
  const canvas = html("canvas", DECORATION);
  const cross = figure("svg.i-cross", width, height, DECORATION);
  const whole = div("i-plate", { tabindex: 0, role: "application" }, canvas, cross);
  whole.style.width = `${width}px`;
  whole.style.height = `${height}px`;
  watch(end, () => {
    paintSlice(whole, canvas, slice(), source.scale, context.view, box);
  });
  watch(end, () => setAttributes(whole, { label: source.label() }));
  watch(end, () => setChildren(cross, crosshair(source)));
  listen(whole, source, end);
  return whole;
}

/** 1 px of ink on 3 px of paper, so that it shows on any picture. */
const line = (d: string): SVGElement[] => [svgPath("i-cross-paper", d), svgPath("i-cross-ink", d)];

/** A cell smaller than this is framed as if it were as large, or the frame would hide it. */
const LEAST_CELL = 4;

function crosshair({ size, box, spot, rowOnly }: PlateSource): SVGElement[] {
  const [rows, columns] = size;
  const [width, height] = box;
  const { row, column } = spot();
  const cell = { width: Math.max(LEAST_CELL, width / columns), height: Math.max(LEAST_CELL, height / rows) };
  const x = ((column + 0.5) * width) / columns;
  const y = ((row + 0.5) * height) / rows;
  const [left, top] = [x - cell.width / 2 - 1, y - cell.height / 2 - 1];
  const frame = `M${left} ${top}h${cell.width + 2}v${cell.height + 2}h${-cell.width - 2}z`;
  if (rowOnly) {
    const whole = `M0.5 ${top + 0.5}H${width - 0.5}v${cell.height + 1}H0.5z`;
    return [svgPath("i-row-frame", whole), ...line(frame)];
  }
  const [right, bottom] = [left + cell.width + 2, top + cell.height + 2];
  const arms = `M${x} 0V${Math.max(0, top)}M${x} ${bottom}V${height}M0 ${y}H${Math.max(0, left)}M${right} ${y}H${width}`;
  return [...line(arms), ...line(frame)];
}

/** Arrow keys move by one, with Shift by a tenth of the slice. */
export const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Where a key takes the crosshair; null for a key that is not ours. */
export function moved(spot: Spot, key: string, far: boolean, size: readonly [number, number]): Spot | null {
  const [rows, columns] = size;
  if (key === "Home") return { row: spot.row, column: 0 };
  if (key === "End") return { row: spot.row, column: columns - 1 };
  if (key === "PageUp") return { row: 0, column: spot.column };
  if (key === "PageDown") return { row: rows - 1, column: spot.column };
  const step = STEPS[key];
  if (!step) return null;
  const by = (count: number): number => (far ? Math.max(1, Math.round(count / 10)) : 1);
  return clampSpot({ row: spot.row + step[0] * by(rows), column: spot.column + step[1] * by(columns) }, size);
}

function listen(figure: HTMLElement, { size, spot, hover }: PlateSource, end: AbortSignal): void {
  const under = (event: PointerEvent): Spot => {
    const { x, y, width, height } = pointerOn(figure, event);
    return clampSpot({ row: (y / height) * size[0], column: (x / width) * size[1] }, size);
  };
  const press = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    figure.setPointerCapture?.(event.pointerId);
    spot.set(under(event));
  };
  const move = (event: PointerEvent): void => {
    const here = under(event);
    if (event.buttons & 1) spot.set(here);
    hover(here);
  };
  const step = ({ key, shiftKey }: KeyboardEvent): boolean => {
    const next = moved(spot.peek(), key, shiftKey, size);
    if (!next) return false;
    spot.set(next);
    hover(next);
    return true;
  };
  on(figure, "pointerdown", press, end);
  on(figure, "pointermove", move, end);
  for (const type of ["pointerleave", "blur"]) on(figure, type, () => hover(null), end);
  onKeys(figure, step, end);
}
