/** Mouse, touch and wheel on the canvas. Clicks select, drags pan, the wheel zooms once the reader has clicked in. */
import { batch, watch } from "../state";
import { toLayout } from "../viewport";
import { fitAll, pan, select, toggleExpanded, zoomBy } from "./actions";
import { on } from "./events";
import { sparkFrame } from "./draw/spark";
import { aimAt } from "./hover";
import type { Pane } from "./pane";

/** A press that moves less than this is a click. */
const SLOP_PX = 4;
/** Zoom of one notch of a wheel (about 100 px) is e^(100 · this). */
const WHEEL_RATE = 0.0022;
/** A pinch on a trackpad arrives as small wheel steps with Ctrl. */
const PINCH_RATE = 0.01;
/** Length of a wheel step in px, by `deltaMode`: pixels, lines, pages. */
const DELTA_PX = [1, 16, 400] as const;

interface Press {
  readonly x: number;
  readonly y: number;
  moved: boolean;
}

type Points = Map<number, { x: number; y: number }>;

const middle = (points: Points): { x: number; y: number; spread: number } => {
  const [a, b] = [...points.values()] as [{ x: number; y: number }, { x: number; y: number } | undefined];
  if (!b) return { ...a, spread: 0 };
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, spread: Math.hypot(a.x - b.x, a.y - b.y) };
};

export function followGestures(pane: Pane, canvas: HTMLElement, svg: SVGSVGElement, end: AbortSignal): void {
  wheel(pane, canvas, end);
  drag(pane, canvas, svg, end);
  on(canvas, "dblclick", () => fitAll(pane), end);
  on(
    canvas.ownerDocument,
    "pointerdown",
    (event) => {
      // The path, since inside a shadow root the target seen from outside is its host.
      if (!event.composedPath().includes(canvas)) pane.view.engaged.set(false);
    },
    end,
    { capture: true },
  );
  watch(end, () => canvas.toggleAttribute("data-engaged", pane.view.engaged()));
}

function wheel(pane: Pane, canvas: HTMLElement, end: AbortSignal): void {
  const turned = (event: WheelEvent): void => {
    const modified = event.ctrlKey || event.metaKey;
    if (!modified && !pane.view.engaged.peek()) return; // The page scrolls.
    event.preventDefault();
    const step = event.deltaY * DELTA_PX[event.deltaMode as 0 | 1 | 2];
    const frame = canvas.getBoundingClientRect();
    if (event.shiftKey && !modified) {
      pan(pane, -(event.deltaX || step), 0);
      return;
    }
    const rate = event.ctrlKey && Math.abs(step) < 50 ? PINCH_RATE : WHEEL_RATE;
    zoomBy(pane, Math.exp(-step * rate), [event.clientX - frame.left, event.clientY - frame.top]);
  };
  on<WheelEvent>(canvas, "wheel", turned, end, { passive: false });
}

function drag(pane: Pane, canvas: HTMLElement, svg: SVGSVGElement, end: AbortSignal): void {
  const points: Points = new Map();
  let press: Press | null = null;
  on<PointerEvent>(
    canvas,
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      points.set(event.pointerId, { x: event.clientX, y: event.clientY });
      press = { x: event.clientX, y: event.clientY, moved: points.size > 1 };
    },
    end,
  );
  on<PointerEvent>(
    canvas,
    "pointermove",
    (event) => {
      if (!press || !points.has(event.pointerId)) return;
      const before = middle(points);
      if (!press.moved && Math.hypot(event.clientX - press.x, event.clientY - press.y) < SLOP_PX) return;
      // Captured only now: capture at the press would send the click to the canvas, not to what was clicked.
      if (!press.moved) canvas.setPointerCapture(event.pointerId);
      press.moved = true;
      canvas.toggleAttribute("data-panning", true);
      points.set(event.pointerId, { x: event.clientX, y: event.clientY });
      const after = middle(points);
      const frame = canvas.getBoundingClientRect();
      batch(() => {
        pan(pane, after.x - before.x, after.y - before.y);
        if (before.spread > 0 && after.spread > 0)
          zoomBy(pane, after.spread / before.spread, [after.x - frame.left, after.y - frame.top]);
      });
    },
    end,
  );
  const lift = (event: PointerEvent): void => {
    points.delete(event.pointerId);
    if (!points.size) canvas.toggleAttribute("data-panning", false);
  };
  on<PointerEvent>(canvas, "pointerup", lift, end);
  on<PointerEvent>(canvas, "pointercancel", lift, end);
  on<MouseEvent>(
    canvas,
    "click",
    (event) => {
      const moved = press?.moved === true;
      press = null;
      if (!moved) click(pane, canvas, svg, event);
    },
    end,
  );
}

function click(pane: Pane, canvas: HTMLElement, svg: SVGSVGElement, event: MouseEvent): void {
  const { view } = pane;
  view.engaged.set(true);
  const target = event.target as Element;
  const opened = target.closest("[data-expand]")?.getAttribute("data-expand");
  if (opened != null) {
    toggleExpanded(pane, opened);
    return;
  }
  const frame = sparkFrame(target, event.clientX);
  if (frame !== null) {
    pane.widget.write("frame", frame);
    return;
  }
  const edge = target.closest(".nf-edge")?.getAttribute("data-edge");
  const element = target.closest<SVGGElement>(".nf-stage");
  const stage = element?.getAttribute("data-stage");
  if (stage != null) {
    view.focus.set(stage);
    element!.focus({ preventScroll: true });
    select(pane, stage, channelAt(pane, svg, stage, event));
    return;
  }
  canvas.focus({ preventScroll: true });
  if (edge != null) select(pane, edge);
}

function channelAt(pane: Pane, svg: SVGSVGElement, stage: string, event: MouseEvent): number | null {
  const card = pane.cards.peek().get(stage);
  const picture = pane.pictures.get(stage);
  if (!card || !picture) return null;
  const frame = svg.getBoundingClientRect();
  const [x, y] = toLayout(pane.view.viewport.peek(), event.clientX - frame.left, event.clientY - frame.top);
  return aimAt(stage, picture, x - card.x, y - card.y)?.placed.slot.channel ?? null;
}
