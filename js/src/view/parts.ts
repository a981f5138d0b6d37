/** Small pieces that several parts of the inspector are made of. */
import { successive } from "../ends";
import { watch } from "../state";
import { type Child, html, setChildren, span } from "./dom";
import { on } from "./events";

/** Text that follows what `text` reads. */
export function live(text: () => string | number, end: AbortSignal): Text {
  const node = document.createTextNode("");
  watch(end, () => {
    node.data = String(text());
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
    setChildren(element, children);
  });
  return element;
}

export const code = (text: string): HTMLElement => html("code.i-code", text);

/** Words of less weight. */
export const muted = (text: string): HTMLElement => span("i-muted", text);

/** The heading of a part. */
export const heading = (title: string, text: Child, ...rest: Child[]): HTMLElement =>
  html("h4.i-heading", html("b", title), html("span", text), ...rest);

/** On top of the panel: what it is about. */
export const head = (name: string, path: string | null, ...rest: Child[]): HTMLElement =>
  html("header.i-head", html("h3.i-name", { title: path }, name), ...rest);

/** A button with words on it. */
export function textButton(
  label: string,
  press: () => void,
  end: AbortSignal,
  ...children: Child[]
): HTMLButtonElement {
  const button = html("button.i-button", { label }, ...children);
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
  current: () => T,
  choose: (value: T) => void,
  end: AbortSignal,
): HTMLSelectElement {
  const options = choices.map(({ text }, i) => html("option", { value: i }, text));
  const select = html("select.i-select", { label }, ...options);
  watch(end, () => {
    select.selectedIndex = choices.findIndex(({ value }) => value === current());
  });
  on(select, "change", () => choose(choices[select.selectedIndex]!.value), end);
  return select;
}

/** Terms and their values, side by side. */
export function terms(className: string, rows: readonly (readonly [string, Child])[]): HTMLDListElement {
  const parts = rows.map(([term, value]) => html("div", html("dt", term), html("dd", value)));
  return html(`dl.${className}`, ...parts);
}
