/** What the reader can do, whatever with: mouse, touch, keyboard or toolbar. State only, no DOM. */
import { collapse, collapseAll, enclosing, expandAll } from "../graph";
import { batch, type ViewContext } from "../state";
import { centred, keepInView, levelAt, panBy, reveal, type Viewport, zoomAt } from "../viewport";
import type { Pane } from "./pane";

/** The zoom of one press of a button or key. */
export const ZOOM_STEP = 1.25;

/** Selects a stage or edge and opens the inspector; `channel` where the reader pointed at one. */
export function select({ widget, view }: ViewContext, id: string, channel: number | null = null): void {
  batch(() => {
    view.channel.set(channel === null ? null : { stage: id, item: channel });
    view.inspector.set(true);
    if (widget.selected.peek() !== id) widget.write("selected", id);
  });
}

/** One step out: first the selection and its panel, then the hold on the wheel. */
export function leave({ widget, view }: ViewContext): void {
  batch(() => {
    view.channel.set(null);
    const open = view.inspector.peek() || widget.selected.peek() !== "";
    if (!open) view.engaged.set(false);
    view.inspector.set(false);
    if (widget.selected.peek()) widget.write("selected", "");
  });
}

/** Moves the viewport by the reader's hand. */
export function look({ view, layout }: Pick<Pane, "view" | "layout">, viewport: Viewport): void {
  const content = layout.peek();
  if (!content) return;
  batch(() => {
    view.fitted.set(false);
    view.viewport.set(keepInView(viewport, content, view.size.peek()));
    view.level.set(levelAt(view.viewport.peek().k, view.level.peek()));
  });
}

/** Around a point of the canvas, or its middle. */
export function zoomBy(pane: Pick<Pane, "view" | "layout">, factor: number, at?: readonly [number, number]): void {
  const { width, height } = pane.view.size.peek();
  const [x, y] = at ?? [width / 2, height / 2];
  look(pane, zoomAt(pane.view.viewport.peek(), factor, x, y));
}

export const pan = (pane: Pick<Pane, "view" | "layout">, dx: number, dy: number): void =>
  look(pane, panBy(pane.view.viewport.peek(), dx, dy));

/** Lets the viewport follow the layout again. */
export function fitAll({ view, layout }: Pick<Pane, "view" | "layout">): void {
  batch(() => {
    view.fitted.set(true);
    follow({ view, layout });
  });
}

/** The viewport that the layout suggests. */
export function follow({ view, layout }: Pick<Pane, "view" | "layout">): void {
  const content = layout();
  if (!content || !view.fitted()) return;
  view.viewport.set(centred(content, view.size(), content.scale));
  view.level.set(levelAt(content.scale, view.level.peek()));
}

/** Puts the keyboard on a stage, and shows it. */
export function goTo(pane: Pick<Pane, "view" | "layout" | "cards" | "focusStage">, id: string): void {
  const card = pane.cards.peek().get(id);
  const { view } = pane;
  batch(() => {
    view.focus.set(id);
    if (!card) return;
    const before = view.viewport.peek();
    const after = reveal(before, card, view.size.peek(), 12);
    if (after.x !== before.x || after.y !== before.y) look(pane, after);
  });
  pane.focusStage(id);
}

/** Opens a stage into its children; for a stage that cannot, closes the group around it. */
export function toggleExpanded({ widget, index }: Pick<Pane, "widget" | "index">, id: string): void {
  const stage = index.peek().stages.get(id);
  const expanded = widget.expanded.peek();
  if (!stage || !widget.kernel) return;
  if (stage.expandable) {
    if (!expanded.includes(id)) widget.write("expanded", [...expanded, id]);
    return;
  }
  const around = enclosing(index.peek(), stage.group).find((group) => expanded.includes(group));
  if (around !== undefined) widget.write("expanded", collapse(index.peek(), expanded, around));
}

/** All stages one level deeper, or all groups one level shallower. */
export function changeDepth({ widget }: Pick<ViewContext, "widget">, deeper: boolean): void {
  const graph = widget.graph.peek();
  if (!graph) return;
  const before = widget.expanded.peek();
  const after = deeper ? expandAll(graph, before) : collapseAll(graph, before);
  if (after.length !== before.length) widget.write("expanded", after);
}
