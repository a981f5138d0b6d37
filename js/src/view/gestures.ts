/** Mouse, touch and wheel on the canvas. Clicks select, drags pan, the wheel zooms once the reader has clicked in. */
import { batch, watch } from "../state";
import { fitAll, pan, select, toggleExpanded, zoomBy } from "./actions";
import { on, pointerOn } from "./events";
import { sparkFrame } from "./draw/spark";
import { aimOf, under } from "./hover";
import type { Pane } from "./pane";

/** A press that moves less than this is a click. */
const SLOP_PX = 4;
/** Zoom of one notch of a wheel (about 100 px) is e^(100 · this). */
const WHEEL_RATE = 0.0022;
/** A pinch on a trackpad arrives as small wheel steps with Ctrl. */
const PINCH_RATE = 0.01;
/** Length of a wheel step in px, by `deltaMode`: pixels, lines, pages. */
const DELTA_PX = [1, 16, 400] as const;

interface Spot {
  readonly x: number;
  readonly y: number;
}

/** In the middle between the fingers, and how far apart they are. */
function middle(points: ReadonlyMap<number, Spot>): Spot & { readonly spread: number } {
  const [a, b = a] = [...points.values()];
  return { x: (a!.x + b!.x) / 2, y: (a!.y + b!.y) / 2, spread: Math.hypot(a!.x - b!.x, a!.y - b!.y) };
}

export function followGestures(pane: Pane, canvas: HTMLElement, svg: SVGSVGElement, end: AbortSignal): void {
  const { engaged } = pane.view;
  wheel(pane, canvas, end);
  drag(pane, canvas, svg, end);
  on(canvas, "dblclick", () => fitAll(pane), end);
  const pressed = (event: Event): void => {
    // The path, since inside a shadow root the target seen from outside is its host.
    if (!event.composedPath().includes(canvas)) engaged.set(false);
  };
  on(canvas.ownerDocument, "pointerdown", pressed, end, { capture: true });
  watch(end, () => canvas.toggleAttribute("data-engaged", engaged()));
}

function wheel(pane: Pane, canvas: HTMLElement, end: AbortSignal): void {
  const turned = (event: WheelEvent): void => {
    const modified = event.ctrlKey || event.metaKey;
    if (!modified && !pane.view.engaged.peek()) return; // The page scrolls.
    event.preventDefault();
    const step = event.deltaY * DELTA_PX[event.deltaMode as 0 | 1 | 2];
    const rate = event.ctrlKey && Math.abs(step) < 50 ? PINCH_RATE : WHEEL_RATE;
    const { x, y } = pointerOn(canvas, event);
    if (event.shiftKey && !modified) pan(pane, -(event.deltaX || step), 0);
    else zoomBy(pane, Math.exp(-step * rate), [x, y]);
  };
  on(canvas, "wheel", turned, end, { passive: false });
}

function drag(pane: Pane, canvas: HTMLElement, svg: SVGSVGElement, end: AbortSignal): void {
  const points = new Map<number, Spot>();
  let press: Spot | null = null;
  let moved = false;
  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    press = pointerOn(canvas, event);
    points.set(event.pointerId, press);
    moved = points.size > 1;
  };
  const move = (event: PointerEvent): void => {
    if (!press || !points.has(event.pointerId)) return;
    const at = pointerOn(canvas, event);
    if (!moved && Math.hypot(at.x - press.x, at.y - press.y) < SLOP_PX) return;
    // Captured only now: capture at the press would send the click to the canvas, not to what was clicked.
    if (!moved) canvas.setPointerCapture(event.pointerId);
    moved = true;
    canvas.toggleAttribute("data-panning", true);
    const before = middle(points);
    points.set(event.pointerId, at);
    const after = middle(points);
    batch(() => {
      pan(pane, after.x - before.x, after.y - before.y);
      if (before.spread > 0 && after.spread > 0) zoomBy(pane, after.spread / before.spread, [after.x, after.y]);
    });
  };
  const lift = (event: PointerEvent): void => {
    points.delete(event.pointerId);
    if (!points.size) canvas.toggleAttribute("data-panning", false);
  };
  const clicked = (event: MouseEvent): void => {
    press = null;
    if (!moved) click(pane, canvas, svg, event);
    moved = false;
  };
  on(canvas, "pointerdown", down, end);
  on(canvas, "pointermove", move, end);
  on(canvas, "pointerup", lift, end);
  on(canvas, "pointercancel", lift, end);
  on(canvas, "click", clicked, end);
}

function click(pane: Pane, canvas: HTMLElement, svg: SVGSVGElement, event: MouseEvent): void {
  const { view } = pane;
  view.engaged.set(true);
  const target = event.target as Element;
  const opened = target.closest("[data-expand]")?.getAttribute("data-expand");
  const frame = sparkFrame(target, event);
  const { stage, edge } = under(event);
  if (opened) toggleExpanded(pane, opened);
  else if (frame !== null) pane.widget.write("frame", frame);
  else if (stage) {
    view.focus.set(stage);
    pane.focusStage(stage);
    select(pane, stage, aimOf(pane, svg, stage, event)?.placed.slot.channel);
  } else {
    canvas.focus({ preventScroll: true });
    if (edge) select(pane, edge);
  }
}
