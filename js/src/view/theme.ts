/** Dark or light, as the host shows it now, and how many device pixels a CSS pixel has. */
import { atEnd } from "../ends";
import type { Theme } from "../colour";
import { type Signal, type ViewContext, watch } from "../state";

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

/** What the page says, strongest first; null where it says nothing. VS Code before Jupyter: its renderer imitates the latter. */
export function hostTheme(document: Document): Theme | null {
  const { body, documentElement: root } = document;
  for (const element of [body, root]) {
    const kind = element.getAttribute("data-vscode-theme-kind") ?? "";
    if (kind) return /dark|high-contrast$/.test(kind) ? "dark" : "light";
    if (element.classList.contains("vscode-light") || element.classList.contains("vscode-high-contrast-light"))
      return "light";
    if (element.classList.contains("vscode-dark") || element.classList.contains("vscode-high-contrast")) return "dark";
  }
  const jupyter = body.getAttribute("data-jp-theme-light");
  if (jupyter !== null) return jupyter === "false" ? "dark" : "light";
  for (const element of [root, body]) {
    const named = element.getAttribute("theme") ?? element.getAttribute("data-theme") ?? "";
    if (named === "dark" || element.classList.contains("dark")) return "dark";
    if (named === "light" || element.classList.contains("light")) return "light";
  }
  return null;
}

/** Keeps `view.theme` and the root's `data-theme` at the theme of the host, or at the one that is forced. */
export function followTheme({ widget, view }: ViewContext, root: HTMLElement, end: AbortSignal): void {
  const { document } = { document: root.ownerDocument };
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
  prefersDark.addEventListener("change", settle, { signal: end });
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
  query.addEventListener("change", () => followRatio(window, ratio, end), { once: true, signal: end });
}
