/** What the reader does: listeners that end with a signal. */

import { type Rect, rectAt } from "../viewport";

/** addEventListener whose signal cannot be forgotten. */
export function on<E extends Event = Event>(
  target: EventTarget,
  type: string,
  listener: (event: E) => void,
  signal: AbortSignal,
  options: Omit<AddEventListenerOptions, "signal"> = {},
): void {
  target.addEventListener(type, listener as EventListener, { ...options, signal });
}

/**
 * Keys that `press` takes, which it says by what it returns. They go no further: the graph and the notebook have meanings
 * of their own for them. Chords are never ours.
 */
export function onKeys(target: EventTarget, press: (event: KeyboardEvent) => boolean, signal: AbortSignal): void {
  const pressed = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || !press(event)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  on(target, "keydown", pressed, signal);
}

/** The number of the element inside `list` that was clicked on: what its `data-${name}` says. */
export function onChoice(list: Element, name: string, choose: (value: number) => void, signal: AbortSignal): void {
  const clicked = (event: Event): void => {
    const value = (event.target as Element).closest(`[data-${name}]`)?.getAttribute(`data-${name}`);
    if (value) choose(Number(value));
  };
  on(list, "click", clicked, signal);
}

/** Where a pointer is on an element, px from its corner, and how large that is on screen. */
export function pointerOn(element: Element, { clientX, clientY }: Pick<MouseEvent, "clientX" | "clientY">): Rect {
  const { left, top, width, height } = element.getBoundingClientRect();
  return rectAt(clientX - left, clientY - top, width || 1, height || 1);
}
