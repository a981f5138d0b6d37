/** A whole widget in a page without layout: sizes are given by hand. */
import createWidget from "../../src/index";
import type { Kernel } from "./kernel";

interface Observed {
  readonly target: Element;
  readonly tell: (width: number, height: number) => void;
}

/** Elements under observation; `resize` tells them a size. */
export const observed = new Set<Observed>();

class HandResizeObserver {
  readonly #told: (entries: unknown[]) => void;
  readonly #mine = new Set<Observed>();

  constructor(told: (entries: unknown[]) => void) {
    this.#told = told;
  }
  observe(target: Element): void {
    const tell = (width: number, height: number): void => this.#told([{ target, contentRect: { width, height } }]);
    const entry = { target, tell };
    this.#mine.add(entry);
    observed.add(entry);
  }
  unobserve(): void {}
  disconnect(): void {
    for (const entry of this.#mine) observed.delete(entry);
  }
}

export function installResizeObserver(): void {
  globalThis.ResizeObserver = HandResizeObserver as unknown as typeof ResizeObserver;
}

export function resize(width: number, height = 400): void {
  for (const { tell } of [...observed]) tell(width, height);
}

export interface Opened {
  readonly root: HTMLElement;
  readonly host: HTMLElement;
  /** Ends the view. */
  close(): void;
  /** Ends the model. */
  end(): void;
  /** Another view of the same model. */
  another(): Opened;
  stage(id: string): SVGGElement;
  edge(source: string, target: string): SVGGElement;
  one<E extends Element = HTMLElement>(selector: string): E;
  readonly readout: string;
}

type Widget = ReturnType<typeof createWidget>;

function show(widget: Widget, model: Kernel, life: AbortController, width: number): Opened {
  const host = document.createElement("div");
  document.body.append(host);
  const view = new AbortController();
  widget.render({ model, el: host, signal: view.signal });
  resize(width);
  const one = <E extends Element>(selector: string): E => {
    const found = host.querySelector<E>(selector);
    if (found === null) throw new Error(`nothing is ${selector}`);
    return found;
  };
  return {
    root: one(".nf-widget"),
    host,
    close: () => view.abort(),
    end: () => life.abort(),
    another: () => show(widget, model, life, width),
    stage: (id) => one(`.nf-stage[data-stage="${id}"]`),
    edge: (source, target) => one(`.nf-edge[data-source="${source}"][data-target="${target}"]`),
    one,
    get readout() {
      return one(".nf-readout").textContent ?? "";
    },
  };
}

/** The widget of a model, as a host opens it. */
export function open(model: Kernel, width = 760): Opened {
  const life = new AbortController();
  const widget = createWidget();
  widget.initialize({ model, signal: life.signal });
  return show(widget, model, life, width);
}

export const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

export function press(target: Element, key: string): void {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, composed: true }));
}

export function point(target: Element, type: string, x = 0, y = 0, more: MouseEventInit = {}): void {
  const init = { bubbles: true, cancelable: true, composed: true, clientX: x, clientY: y, ...more };
  const event = type.startsWith("pointer") ? new PointerEvent(type, init) : new MouseEvent(type, init);
  target.dispatchEvent(event);
}

/** A click as a person makes it. */
export function click(target: Element, x = 0, y = 0): void {
  point(target, "pointerdown", x, y, { buttons: 1 });
  point(target, "pointerup", x, y);
  point(target, "click", x, y);
}
