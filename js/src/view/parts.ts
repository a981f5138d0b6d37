/** Small pieces that several parts of the inspector are made of. */
import { type ReadonlySignal, watch } from "../state";
import { type Child, html, on } from "./dom";

/** A run of lifetimes inside `end`: each call ends the one before and gives the signal of the next. */
function successive(end: AbortSignal): () => AbortSignal {
  let current = new AbortController();
  end.addEventListener("abort", () => current.abort(), { once: true });
  return () => {
    current.abort();
    current = new AbortController();
    if (end.aborted) current.abort();
    return current.signal;
  };
}

/** Text that follows a signal. */
export function live(text: ReadonlySignal<string>, end: AbortSignal): Text {
  const node = document.createTextNode("");
  watch(end, () => {
    node.data = text.value;
  });
  return node;
}

/** Children that are made anew whenever what `make` reads changes. */
export function remade<E extends Element>(
  element: E,
  make: (scope: AbortSignal) => readonly Child[],
  end: AbortSignal,
): E {
  const next = successive(end);
  watch(end, () => {
    const children = make(next());
    element.replaceChildren(...children.filter((child) => child !== null && child !== undefined && child !== false));
  });
  return element;
}

export const code = (...children: Child[]): HTMLElement => html("code", { class: "nf-i-code" }, ...children);

/** A button with words on it. */
export function textButton(
  label: string,
  press: () => void,
  end: AbortSignal,
  ...children: Child[]
): HTMLButtonElement {
  const button = html("button", { type: "button", class: "nf-i-button", "aria-label": label }, ...children);
  on(button, "click", press, end);
  return button;
}

export interface Choice<T> {
  readonly value: T;
  readonly text: string;
}

/** A drop-down; `label` is its accessible name. */
export function chooser<T>(
  label: string,
  choices: readonly Choice<T>[],
  current: ReadonlySignal<T>,
  choose: (value: T) => void,
  end: AbortSignal,
): HTMLSelectElement {
  const options = choices.map(({ text }, i) => html("option", { value: i }, text));
  const select = html("select", { class: "nf-i-select", "aria-label": label }, ...options);
  watch(end, () => {
    select.selectedIndex = choices.findIndex(({ value }) => value === current.value);
  });
  on(select, "change", () => choose(choices[select.selectedIndex]!.value), end);
  return select;
}

/** Terms and their values, side by side. */
export function terms(className: string, rows: readonly (readonly [string, Child])[]): HTMLDListElement {
  const parts = rows.map(([term, value]) => html("div", {}, html("dt", {}, term), html("dd", {}, value)));
  return html("dl", { class: className }, ...parts);
}
