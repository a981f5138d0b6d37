/** The keyboard on the canvas: one stage is in the tab order, arrows move it along the edges. */
import type { Card } from "../layout/types";
import type { EdgeInfo } from "../protocol";
import { fitAll, goTo, leave, select, toggleExpanded, ZOOM_STEP, zoomBy } from "./actions";
import { on, onKeys } from "./events";
import type { Pane } from "./pane";

type Side = "left" | "right" | "up" | "down";
const ARROWS: Readonly<Record<string, Side>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

const centre = (card: Card): readonly [number, number] => [card.x + card.width / 2, card.y + card.height / 2];

/** The nearest card above or below; sideways counts double, so that a lane or row is not left by accident. */
function vertical(cards: ReadonlyMap<string, Card>, from: Card, side: "up" | "down"): string | null {
  const [x, y] = centre(from);
  let best: { id: string; distance: number } | null = null;
  for (const card of cards.values()) {
    const [cx, cy] = centre(card);
    const away = side === "down" ? cy - y : y - cy;
    if (away < from.height / 4) continue;
    const distance = away + 2 * Math.abs(cx - x);
    if (!best || distance < best.distance) best = { id: card.id, distance };
  }
  return best?.id ?? null;
}

/** Where an arrow leads: right and left along the main edge, up and down to the next card there. */
export function nextStage(pane: Pick<Pane, "index" | "cards">, id: string, side: Side): string | null {
  const { incoming, outgoing } = pane.index.peek();
  const first = (edges: readonly EdgeInfo[] | undefined): EdgeInfo | undefined => edges?.[0];
  if (side === "right") return first(outgoing.get(id))?.target ?? null;
  if (side === "left") return first(incoming.get(id))?.source ?? null;
  const from = pane.cards.peek().get(id);
  return from ? vertical(pane.cards.peek(), from, side) : null;
}

export function followKeys(pane: Pane, canvas: HTMLElement, end: AbortSignal): void {
  const move = (id: string | null | undefined): void => {
    if (id) goTo(pane, id);
  };
  const stages = () => pane.widget.graph.peek()?.stages ?? [];
  const actions: Record<string, (id: string) => void> = {
    Enter: (id) => select(pane, id),
    " ": (id) => select(pane, id),
    e: (id) => toggleExpanded(pane, id),
    "+": () => zoomBy(pane, ZOOM_STEP),
    "=": () => zoomBy(pane, ZOOM_STEP),
    "-": () => zoomBy(pane, 1 / ZOOM_STEP),
    "0": () => fitAll(pane),
    Home: () => move(stages()[0]?.id),
    End: () => move(stages().at(-1)?.id),
  };
  for (const [key, side] of Object.entries(ARROWS)) actions[key] = (id) => move(nextStage(pane, id, side));
  const press = ({ key }: KeyboardEvent): boolean => {
    actions[key]?.(pane.view.focus.peek());
    return key in actions;
  };
  onKeys(canvas, press, end);
}

/** Escape anywhere in the widget leaves, one step at a time. */
export function followEscape(pane: Pane, root: HTMLElement, end: AbortSignal): void {
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.stopPropagation();
    leave(pane);
    pane.focusStage(pane.view.focus.peek());
  };
  on(root, "keydown", press, end);
}
