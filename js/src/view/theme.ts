/** Dark or light, as the host shows it now, and how many device pixels a CSS pixel has. */
import { atEnd } from "../ends";
import type { Theme } from "../colour";
import { type Signal, type ViewContext, watch } from "../state";
import { on } from "./events";

/** Attributes by which hosts tell their theme. */
const TOLD_BY = [
  "class",
  "style",
  "data-jp-theme-light",
  "data-jp-theme-name",
  "data-vscode-theme-kind",
  "theme",
  "data-theme",
];

/** What an element says in these attributes, as words. */
const wordsOf = (element: Element, ...names: readonly string[]): string[] =>
  names.flatMap((name) => element.getAttribute(name)?.split(/\s+/) ?? []);

/** What the page says, strongest first; null where it says nothing. VS Code before Jupyter: its renderer imitates the latter. */
export function hostTheme({ body, documentElement: root }: Document): Theme | null {
  for (const element of [body, root])
    for (const word of wordsOf(element, "data-vscode-theme-kind", "class")) {
      const kind = /^vscode-(dark|light|high-contrast(?:-light)?)$/.exec(word)?.[1];
      if (kind) return kind.endsWith("light") ? "light" : "dark";
    }
  const jupyter = body.getAttribute("data-jp-theme-light");
  if (jupyter !== null) return jupyter === "false" ? "dark" : "light";
  for (const element of [root, body]) {
    const words = wordsOf(element, "theme", "data-theme", "class");
    for (const theme of ["dark", "light"] as const) if (words.includes(theme)) return theme;
  }
  return null;
}

/** Keeps `view.theme` and the root's `data-theme` at the theme of the host, or at the one that is forced. */
export function followTheme({ widget, view }: ViewContext, root: HTMLElement, end: AbortSignal): void {
  const document = root.ownerDocument;
  const window = document.defaultView!;
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const settle = (): void => {
    const forced = widget.options.peek().theme;
    const own = prefersDark.matches ? "dark" : "light";
    const theme = forced === "auto" ? (hostTheme(document) ?? own) : forced;
    root.dataset.theme = theme;
    root.toggleAttribute("data-hosted", forced === "auto");
    view.theme.set(theme);
  };
  const observer = new window.MutationObserver(settle);
  for (const element of [document.body, document.documentElement])
    observer.observe(element, { attributes: true, attributeFilter: TOLD_BY });
  atEnd(end, () => observer.disconnect());
  on(prefersDark, "change", settle, end);
  watch(end, () => {
    widget.options();
    settle();
  });
  followRatio(window, view.ratio, end);
}

/** A query holds for one ratio only, so each change asks anew. */
function followRatio(window: Window, ratio: Signal<number>, end: AbortSignal): void {
  ratio.set(window.devicePixelRatio || 1);
  const query = window.matchMedia(`(resolution: ${ratio.peek()}dppx)`);
  on(query, "change", () => followRatio(window, ratio, end), end, { once: true });
}
