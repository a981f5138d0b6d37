/** A list that opens at a button: search results, notes. Arrow keys move in it, Escape closes it. */
import { html } from "./dom";
import { on } from "./events";

export interface Entry {
  readonly title: string;
  readonly text: string;
  /** Absent for an entry that leads nowhere. */
  readonly go?: () => void;
}

function entryElement(entry: Entry, close: () => void, end: AbortSignal): HTMLElement {
  const title = entry.title && html("span.entry-title", entry.title);
  const text = html("span.entry-text", entry.text);
  if (!entry.go) return html("li.entry", { tabindex: -1 }, title, text);
  const button = html("button.entry", title, text);
  on(
    button,
    "click",
    () => {
      close();
      entry.go?.();
    },
    end,
  );
  return html("li", button);
}

/** Fills `list`; listeners live until `end`. */
export function fillList(list: HTMLElement, entries: readonly Entry[], close: () => void, end: AbortSignal): void {
  list.replaceChildren(...entries.map((entry) => entryElement(entry, close, end)));
}

/** Room for a panel inside the widget, which cuts what sticks out: below its button, or above where it opens upwards. */
function roomFor(button: HTMLElement, panel: HTMLElement): number {
  const widget = panel.closest(".nf-widget")?.getBoundingClientRect();
  const at = button.getBoundingClientRect();
  if (!widget) return 0;
  return panel.classList.contains("nf-popover-up") ? at.top - widget.top : widget.bottom - at.bottom;
}

/** Makes `panel` open and close with `button`; focus returns to the button. */
export function popover(
  button: HTMLElement,
  panel: HTMLElement,
  opened: () => void,
  end: AbortSignal,
): { close(): void } {
  panel.hidden = true;
  button.setAttribute("aria-haspopup", "true");
  const set = (open: boolean): void => {
    if (open === (panel.hidden === false)) return;
    panel.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    panel.style.setProperty("--nf-room", `${roomFor(button, panel)}px`);
    if (open) opened();
  };
  const close = (): void => {
    const held = panel.contains((panel.getRootNode() as Document | ShadowRoot).activeElement);
    set(false);
    if (held) button.focus({ preventScroll: true });
  };
  on(button, "click", () => set(panel.hidden !== false), end);
  on<KeyboardEvent>(
    panel,
    "keydown",
    (event) => {
      if (event.key === "Escape") close();
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") step(panel, event.key === "ArrowDown" ? 1 : -1);
      else return event.stopPropagation();
      event.preventDefault();
      event.stopPropagation();
    },
    end,
  );
  on(
    panel.ownerDocument,
    "pointerdown",
    (event) => {
      const path = event.composedPath();
      if (!path.includes(panel) && !path.includes(button)) set(false);
    },
    end,
    { capture: true },
  );
  return { close };
}

function step(panel: HTMLElement, by: number): void {
  const stops = [...panel.querySelectorAll<HTMLElement>("input, button")];
  const at = stops.indexOf((panel.getRootNode() as Document | ShadowRoot).activeElement as HTMLElement);
  stops[(at + by + stops.length) % stops.length]?.focus();
}
