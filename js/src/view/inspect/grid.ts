/** All items of a leaf (channels, heads, features), ranked, eight across; a row is drawn while it is near the view. */
import { atEnd } from "../../ends";
import type { TileRequest } from "../../protocol";
import { type ReadonlySignal, type Signal, signal, watch } from "../../state";
import { DECORATION, div, html, setAttributes, setChildren, span } from "../dom";
import { onChoice, onKeys } from "../events";
import { type Leaf, scaleOf } from "./detail";
import { boxOf, paintSlice, STEPS } from "./plate";
import type { Slice } from "./slice";

/** The items of a leaf, in the order of its lens. */
export interface GridSource {
  readonly leaf: Leaf;
  /** Rows and columns of each. */
  readonly size: readonly [number, number];
  /** The best that is known; read inside an effect. */
  slice(item: number): Slice | null;
  /** What a row in view asks for; null where the slices come in another way. */
  readonly request: ((item: number) => TileRequest) | null;
  readonly picked: ReadonlySignal<number | null>;
  pick(item: number): void;
}

const ACROSS = 8;
/** CSS px. */
export const TILE = 49.9;
/** Values along a tile's longer side: two device pixels per CSS px. */
export const TILE_VALUES = 100;

interface Row {
  readonly element: HTMLElement;
  readonly items: readonly number[];
  readonly near: Signal<boolean>;
}

let grids = 0;

export function grid(source: GridSource, end: AbortSignal): HTMLElement {
  const { order, item: name } = source.leaf.lens;
  const prefix = `nf-i-grid-${++grids}`;
  const box = div("i-grid", {
    role: "listbox",
    tabindex: 0,
    label: `${order.length} ${name}s`,
  });
  const rows: Row[] = [];
  for (let i = 0; i < order.length; i += ACROSS) {
    const element = div("i-row", { role: "presentation" });
    rows.push({ element, items: order.slice(i, i + ACROSS), near: signal(false) });
  }
  for (const row of rows) watch(end, () => (row.near() ? fill(row, source, prefix, box) : undefined));
  box.append(...rows.map((row) => row.element));
  observe(box, rows, end);
  claim(source, rows, end);
  steer(box, source, rows, prefix, end);
  return box;
}

/** Draws a row; returns how to undo it. */
function fill(row: Row, source: GridSource, prefix: string, box: HTMLElement): () => void {
  const life = new AbortController();
  row.element.append(...row.items.map((item) => tile(item, source, prefix, life.signal)));
  return () => {
    life.abort();
    const active = box.getAttribute("aria-activedescendant");
    if (row.items.some((item) => active === `${prefix}-${item}`)) box.removeAttribute("aria-activedescendant");
    setChildren(row.element, []);
  };
}

function tile(item: number, source: GridSource, prefix: string, life: AbortSignal): HTMLElement {
  const { leaf } = source;
  const box = boxOf(source.size, TILE, 6);
  const canvas = html("canvas", DECORATION);
  const frame = span("i-tile", canvas);
  const name = `${leaf.lens.item} ${item}`;
  const option = div(
    "i-cell",
    { role: "option", id: `${prefix}-${item}`, "data-item": item, title: name, label: name },
    frame,
    span("i-number", item),
  );
  watch(life, () => setAttributes(option, { "aria-selected": source.picked() === item }));
  watch(life, () => {
    const slice = source.slice(item);
    paintSlice(frame, canvas, slice, () => scaleOf(leaf, slice), leaf.context.view, box);
  });
  return option;
}

/** Marks the rows that are in view or close to it. Without an observer all are. */
function observe(box: HTMLElement, rows: readonly Row[], end: AbortSignal): void {
  if (typeof IntersectionObserver === "undefined") {
    for (const row of rows) row.near.set(true);
    return;
  }
  const byElement = new Map(rows.map((row) => [row.element as Element, row]));
  const seen = (entries: readonly IntersectionObserverEntry[]): void => {
    for (const { target, isIntersecting } of entries) byElement.get(target)!.near.set(isIntersecting);
  };
  const observer = new IntersectionObserver(seen, { root: box, rootMargin: `${TILE}px 0px` });
  for (const row of rows) observer.observe(row.element);
  atEnd(end, () => observer.disconnect());
}

function claim({ leaf: { context }, request }: GridSource, rows: readonly Row[], end: AbortSignal): void {
  if (!request) return;
  const held = context.interest.claim(end);
  watch(end, () => held.want(rows.filter((row) => row.near()).flatMap((row) => row.items.map(request))));
}

/** Place in the grid that a key leads to; null for a key that is not ours. */
export function nextPlace(at: number, key: string, count: number): number | null {
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const step = STEPS[key];
  if (!step) return null;
  const next = at + step[0] * ACROSS + step[1];
  return next < 0 || next >= count ? at : next;
}

function steer(box: HTMLElement, source: GridSource, rows: readonly Row[], prefix: string, end: AbortSignal): void {
  const { leaf, picked, pick } = source;
  const { order } = leaf.lens;
  const go = (item: number): void => {
    const row = rows[Math.floor(order.indexOf(item) / ACROSS)];
    if (!row) return;
    row.near.set(true);
    pick(item);
    reveal(box, row.element);
    box.setAttribute("aria-activedescendant", `${prefix}-${item}`);
  };
  onChoice(box, "item", go, end);
  onKeys(
    box,
    ({ key }) => {
      const next = nextPlace(Math.max(0, order.indexOf(picked.peek() ?? -1)), key, order.length);
      if (next !== null) go(order[next]!);
      return next !== null;
    },
    end,
  );
}

/** Scrolls the grid alone: `scrollIntoView` would move the notebook too. */
function reveal(box: HTMLElement, row: HTMLElement): void {
  const [outer, inner] = [box.getBoundingClientRect(), row.getBoundingClientRect()];
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom;
}
