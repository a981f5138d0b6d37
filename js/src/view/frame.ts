/** What the browser tells of the widget's place: sizes, full screen, fonts; and what the host's keyboard is left. */
import { atEnd } from "../ends";
import type { Theme } from "../colour";
import { batch, computed, type ReadonlySignal, signal } from "../state";
import { on } from "./events";

export interface Sizes {
  /** Width of the widget. */
  readonly width: ReadonlySignal<number>;
  /** Of the canvas inside it. */
  readonly canvasWidth: ReadonlySignal<number>;
  readonly canvasHeight: ReadonlySignal<number>;
}

export function observeSizes(root: HTMLElement, canvas: HTMLElement, end: AbortSignal): Sizes {
  const [width, canvasWidth, canvasHeight] = [signal(0), signal(0), signal(0)];
  const observer = new ResizeObserver((entries) =>
    batch(() => {
      for (const { target, contentRect } of entries) {
        if (target === root) width.set(contentRect.width);
        else {
          canvasWidth.set(contentRect.width);
          canvasHeight.set(contentRect.height);
        }
      }
    }),
  );
  observer.observe(root);
  observer.observe(canvas);
  atEnd(end, () => observer.disconnect());
  return { width, canvasWidth, canvasHeight };
}

export interface FullScreen {
  readonly on: ReadonlySignal<boolean>;
  /** Null where the host does not allow it. */
  readonly toggle: (() => void) | null;
}

export function fullScreen(root: HTMLElement, end: AbortSignal): FullScreen {
  const page = root.ownerDocument;
  const full = signal(false);
  const settle = (): void => full.set(root.matches(":fullscreen"));
  on(root, "fullscreenchange", settle, end);
  const toggle = (): void => {
    const asked = full.peek() ? page.exitFullscreen() : root.requestFullscreen();
    // A host that forbids it after all leaves everything as it is.
    asked.catch(settle);
  };
  return { on: full, toggle: page.fullscreenEnabled ? toggle : null };
}

/** Changes when text may have other fonts: they have been loaded, or the theme is another. */
export function fontEpoch(root: HTMLElement, theme: ReadonlySignal<Theme>, end: AbortSignal): ReadonlySignal<number> {
  const loads = signal(0);
  const fonts = root.ownerDocument.fonts as FontFaceSet | undefined;
  const loaded = (): void => loads.set(loads.peek() + 1);
  if (fonts) on(fonts, "loadingdone", loaded, end);
  return computed(() => 2 * loads() + (theme() === "dark" ? 1 : 0));
}

const SUPPRESS = "data-lm-suppress-shortcuts";

/**
 * Keeps Jupyter's single-letter commands (0 0 restarts the kernel) from keys that are meant for the widget. Chords with
 * Ctrl or Meta, such as saving, stay the notebook's: it reads the attribute when the second key goes down.
 */
export function holdSingleKeys(root: HTMLElement, end: AbortSignal): void {
  root.setAttribute(SUPPRESS, "true");
  const follow = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey) root.removeAttribute(SUPPRESS);
    else root.setAttribute(SUPPRESS, "true");
  };
  on(root, "keydown", follow, end, { capture: true });
  on(root, "keyup", follow, end, { capture: true });
  on(root, "focusout", () => root.setAttribute(SUPPRESS, "true"), end);
}
