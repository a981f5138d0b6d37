/** What opens at a button: search results, notes, options. Arrow keys move in it, Escape closes it. */
import { type Attributes, div, html, setChildren, span } from "./dom";
import { on, onChoice } from "./events";

/** Room for a panel inside the widget, which cuts what sticks out: below its button, or above where it opens upwards. */
function roomFor(button: HTMLElement, panel: HTMLElement): number {
  const widget = panel.closest(".nf-widget")?.getBoundingClientRect();
  const at = button.getBoundingClientRect();
  if (!widget) return 0;
  return panel.classList.contains("nf-popover-up") ? at.top - widget.top : widget.bottom - at.bottom;
}

const STOPS = "input, select, button";

export interface Popover {
  /** The button with its panel. */
  readonly element: HTMLElement;
  /** Focus returns to the button. */
  close(): void;
}

/** Opens `panel` at `button`, and puts the keyboard on the first thing in it; `opened` may fill it before. */
export function popover(button: HTMLElement, panel: HTMLElement, end: AbortSignal, opened?: () => void): Popover {
  panel.hidden = true;
  button.setAttribute("aria-haspopup", "true");
  const active = (): Element | null => (panel.getRootNode() as Document | ShadowRoot).activeElement;
  const set = (open: boolean): void => {
    if (open !== panel.hidden) return;
    panel.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    panel.style.setProperty("--nf-room", `${roomFor(button, panel)}px`);
    if (!open) return;
    opened?.();
    panel.querySelector<HTMLElement>(`${STOPS}, [tabindex]`)?.focus();
  };
  const close = (): void => {
    const held = panel.contains(active());
    set(false);
    if (held) button.focus({ preventScroll: true });
  };
  const step = (by: number): void => {
    const stops = [...panel.querySelectorAll<HTMLElement>(STOPS)];
    const at = stops.indexOf(active() as HTMLElement);
    stops[(at + by + stops.length) % stops.length]?.focus();
  };
  const actions: Readonly<Record<string, () => void>> = {
    Escape: close,
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
  };
  const press = (event: KeyboardEvent): void => {
    const action = actions[event.key];
    action?.();
    if (action) event.preventDefault();
    // Whatever is typed here is not for the graph.
    event.stopPropagation();
  };
  const elsewhere = (event: Event): void => {
    const path = event.composedPath();
    if (!path.includes(panel) && !path.includes(button)) set(false);
  };
  on(button, "click", () => set(panel.hidden !== false), end);
  on(panel, "keydown", press, end);
  on(panel.ownerDocument, "pointerdown", elsewhere, end, { capture: true });
  return { element: div("anchor", button, panel), close };
}

export interface Entry {
  readonly title: string;
  readonly text: string;
  /** Absent for an entry that leads nowhere. */
  readonly go?: () => void;
}

function entryElement({ title, text, go }: Entry, index: number): HTMLElement {
  const words = [title && span("entry-title", title), span("entry-text", text)];
  if (!go) return html("li.entry", { tabindex: -1 }, ...words);
  return html("li", html("button.entry", { "data-entry": index }, ...words));
}

/** A popover with a list of `entries`, asked for whenever it opens and whenever something is typed into `field` over it. */
export function listPopover(
  button: HTMLElement,
  place: "popover" | "popover popover-up",
  attributes: Attributes,
  entries: () => readonly Entry[],
  end: AbortSignal,
  field: HTMLInputElement | null = null,
): HTMLElement {
  const list = html("ul.list");
  let shown: readonly Entry[] = [];
  const fill = (): void => {
    shown = entries();
    setChildren(list, shown.map(entryElement));
  };
  const panel = html(`div.${place}`, attributes, field, list);
  const { element, close } = popover(button, panel, end, () => {
    if (field) field.value = "";
    fill();
  });
  const choose = (index: number): void => {
    close();
    shown[index]!.go!();
  };
  onChoice(list, "entry", choose, end);
  if (field) on(field, "input", fill, end);
  return element;
}
