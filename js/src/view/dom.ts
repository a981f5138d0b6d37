/** Small helpers for elements. Data reaches the DOM as attributes, properties and text, never as markup. */

import { on } from "./events";

type Attribute = string | number | boolean | null | undefined;
export type Attributes = Readonly<Record<string, Attribute>>;
/** What is empty, or what a condition left out, is no child. */
export type Child = Node | string | number | null | undefined | false;

/**
 * `null`, `undefined` and `false` remove the attribute, `true` sets it empty; those of ARIA say true or false. `label` is
 * what a screen reader calls the element.
 */
export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [key, value] of Object.entries(attributes)) {
    const name = key === "label" ? "aria-label" : key;
    const word = typeof value === "boolean" && name.startsWith("aria-") ? String(value) : value;
    if (word === null || word === undefined || word === false) element.removeAttribute(name);
    else element.setAttribute(name, word === true ? "" : String(word));
  }
}

/** In place of what the element holds. */
export function setChildren(element: Element, children: readonly Child[]): void {
  element.replaceChildren();
  add(element, children);
}

function add(element: Element, parts: readonly (Attributes | Child)[]): void {
  for (const part of parts)
    if (typeof part === "string" || typeof part === "number" || part instanceof Node) element.append(part as Node);
    else if (part) setAttributes(element, part);
}

/** A tag, or a tag with classes, each of which is given the prefix of ours: "div.list open" has .nf-list and .nf-open. */
type Named<K extends string> = K | `${K}.${string}`;

/** Makes elements of a namespace from a tag, attributes and children. A button is never one that submits. */
const maker =
  <Tags>(namespace: string) =>
  <K extends keyof Tags & string>(name: Named<K>, ...parts: readonly (Attributes | Child)[]): Tags[K] => {
    const [tag = "", classes] = name.split(".");
    const element = document.createElementNS(namespace, tag);
    setAttributes(element, { class: classes?.replace(/^| /g, "$&nf-"), type: tag === "button" && tag });
    add(element, parts);
    return element as Tags[K];
  };

export const html = maker<HTMLElementTagNameMap>("http://www.w3.org/1999/xhtml");
export const svg = maker<SVGElementTagNameMap>("http://www.w3.org/2000/svg");

/** What assistive technology passes over. */
export const DECORATION: Attributes = { "aria-hidden": true };

/** Elements of one tag that have classes. */
const classed =
  <K extends keyof HTMLElementTagNameMap>(tag: K) =>
  (classes: string, ...parts: readonly (Attributes | Child)[]): HTMLElementTagNameMap[K] =>
    html(`${tag}.${classes}`, ...parts);

export const div = classed("div");
export const span = classed("span");

export const svgPath = (classes: string, d: string, attributes: Attributes = {}): SVGPathElement =>
  svg(`path.${classes}`, { d, ...attributes });

export const svgRect = (
  classes: string,
  x: number,
  y: number,
  width: number,
  height: number,
  attributes: Attributes = {},
): SVGRectElement => svg(`rect.${classes}`, { x, y, width, height, ...attributes });

/** With its origin moved. */
export const movedTo = (x: number, y: number, ...parts: readonly (Attributes | Child)[]): SVGGElement =>
  svg("g", { transform: `translate(${x} ${y})` }, ...parts);

/** A drawing in px. */
export const figure = (
  name: `svg.${string}`,
  width: number,
  height: number,
  ...parts: readonly (Attributes | Child)[]
): SVGSVGElement => svg(name, { width, height, viewBox: `0 0 ${width} ${height}` }, ...parts);

/** 15 × 15 line drawings. */
const ICONS = {
  fit: "M2 5V2h3M10 2h3v3M13 10v3h-3M5 13H2v-3",
  full: "M6 2H2v4M9 2h4v4M13 9v4H9M2 9v4h4M2 2l4 4M13 2L9 6M13 13L9 9M2 13l4-4",
  panel: "M2 2.5h11v10H2zM9 2.5v10",
  plus: "M7.5 3v9M3 7.5h9",
  minus: "M3 7.5h9",
  save: "M7.5 2v8M4.5 7l3 3 3-3M2.5 12.5h10",
  search: "M6.5 2.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM9.5 9.5l3.5 3.5",
  cross: "M3.5 3.5l8 8M11.5 3.5l-8 8",
  warn: "M7.5 2.5l5.5 10H2z",
  wait: "M5.5 4v7M9.5 4v7",
  none: "M7.5 2a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM3.6 3.6l7.8 7.8",
  previous: "M10.5 3.5L5.5 7.5l5 4zM4 3.5v8",
  next: "M4.5 3.5l5 4-5 4zM11 3.5v8",
  play: "M4.5 3l7 4.5-7 4.5z",
  pause: "M4 3h2.5v9H4zM8.5 3H11v9H8.5z",
  more: "M3 6.5h1v2H3zM7 6.5h1v2H7zM11 6.5h1v2h-1z",
} as const;

export type IconName = keyof typeof ICONS;

/** A line drawing of our own. */
export const iconOf = (drawn: SVGElement): SVGSVGElement =>
  svg("svg.icon", { viewBox: "0 0 15 15" }, DECORATION, drawn);

export const icon = (name: IconName): SVGSVGElement => iconOf(svg("path", { d: ICONS[name] }));

/** A push button with a picture; `label` is its accessible name and tooltip. */
export function iconButton(name: IconName, label: string, press: () => void, signal: AbortSignal): HTMLButtonElement {
  const button = html("button.button", { label, title: label }, icon(name));
  on(button, "click", press, signal);
  return button;
}

/** Turns a control off for a reason in words, its tooltip then; on for "". */
export function turnOff(control: HTMLButtonElement | HTMLInputElement, why: string): void {
  control.disabled = why !== "";
  control.title = why || (control.getAttribute("aria-label") ?? "");
}
