/** All items of a leaf (channels, heads, features), ranked, eight across; a row is drawn while it is near the view. */
import { atEnd } from "../../ends";
import { colourTable, type Scale } from "../../colour";
import type { TileRequest } from "../../protocol";
import { type ReadonlySignal, type Signal, signal, type ViewContext, watch } from "../../state";
import { paintPlane } from "../canvas";
import { html, on, setAttributes } from "../dom";
import { boxOf } from "./plate";
import type { Slice } from "./slice";

export interface GridSource {
  readonly context: ViewContext;
  /** In the order shown. */
  readonly items: readonly number[];
  /** "channel", "head", "feature". */
  readonly item: string;
  /** Rows and columns of each. */
  readonly size: readonly [number, number];
  /** The best that is known; read inside an effect. */
  slice(item: number): Slice | null;
  /** What a row in view asks for; null where the slices come in another way. */
  readonly request: ((item: number) => TileRequest) | null;
  scale(slice: Slice): Scale;
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
  const prefix = `nf-i-grid-${++grids}`;
  const box = html("div.i-grid", {
    role: "listbox",
    tabindex: 0,
    "aria-label": `${source.items.length} ${source.item}s`,
  });
  const rows: Row[] = [];
  for (let i = 0; i < source.items.length; i += ACROSS) {
    const element = html("div.i-row", { role: "presentation" });
    rows.push({ element, items: source.items.slice(i, i + ACROSS), near: signal(false) });
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
    row.element.replaceChildren();
  };
}

function tile(item: number, source: GridSource, prefix: string, life: AbortSignal): HTMLElement {
  const { context } = source;
  const [width, height] = boxOf(source.size, TILE, 6);
  const canvas = html("canvas", { "aria-hidden": "true" });
  const frame = html("span.i-tile", canvas);
  const name = `${source.item} ${item}`;
  const option = html(
    "div.i-cell",
    { role: "option", id: `${prefix}-${item}`, "data-item": item, title: name, "aria-label": name },
    frame,
    html("span.i-number", String(item)),
  );
  watch(life, () => setAttributes(option, { "aria-selected": String(source.picked() === item) }));
  watch(life, () => {
    const slice = source.slice(item);
    frame.toggleAttribute("data-waiting", !slice);
    if (!slice) return canvas.removeAttribute("data-exact");
    const { theme, ratio } = context.view;
    const table = colourTable(theme());
    paintPlane(canvas, slice, { scale: source.scale(slice), table, width, height, ratio: ratio() });
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

function claim({ context, request }: GridSource, rows: readonly Row[], end: AbortSignal): void {
  if (!request) return;
  const held = context.interest.claim(end);
  watch(end, () => held.want(rows.filter((row) => row.near()).flatMap((row) => row.items.map(request))));
}

const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -ACROSS, ArrowDown: ACROSS };

/** Place in the grid that a key leads to; null for a key that is not ours. */
export function nextPlace(at: number, key: string, count: number): number | null {
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const step = STEPS[key];
  if (step === undefined) return null;
  const next = at + step;
  return next < 0 || next >= count ? at : next;
}

function steer(box: HTMLElement, source: GridSource, rows: readonly Row[], prefix: string, end: AbortSignal): void {
  const { items, picked, pick } = source;
  const go = (item: number): void => {
    const row = rows[Math.floor(items.indexOf(item) / ACROSS)];
    if (!row) return;
    row.near.set(true);
    pick(item);
    reveal(box, row.element);
    box.setAttribute("aria-activedescendant", `${prefix}-${item}`);
  };
  on<HTMLElement, MouseEvent>(
    box,
    "click",
    (event) => {
      const item = (event.target as Element).closest<HTMLElement>(".nf-i-cell")?.dataset.item;
      if (item !== undefined) go(Number(item));
    },
    end,
  );
  on<HTMLElement, KeyboardEvent>(
    box,
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const at = picked.peek() === null ? -1 : items.indexOf(picked.peek()!);
      const next = nextPlace(Math.max(0, at), event.key, items.length);
      if (next === null) return;
      // The graph moves its selection with the same keys.
      event.preventDefault();
      event.stopPropagation();
      go(items[next]!);
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
