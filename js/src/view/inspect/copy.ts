/** A line of Python with a button that copies it. */
import { delayed } from "../../ends";
import { type ReadonlySignal, watch } from "../../state";
import { div, html, setChildren, span } from "../dom";
import { live, textButton } from "../parts";

const DONE_MS = 1600;

/**
 * False where the clipboard is denied, or closed to a page without a secure context: then what is `shown` is selected for
 * the reader to copy.
 */
export async function copyText(text: string, shown: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(shown);
    shown.focus();
    return false;
  }
}

export function copyLine(text: ReadonlySignal<string>, end: AbortSignal): HTMLElement {
  const line = html("code.i-expression", { tabindex: 0, label: "Python expression" }, live(text, end));
  const said = span("i-said", { role: "status" });
  const later = delayed(end);
  const copy = async (): Promise<void> => {
    said.textContent = (await copyText(text.peek(), line)) ? "copied" : "selected: press Ctrl+C or ⌘C";
    later(DONE_MS, () => setChildren(said, []));
  };
  const button = textButton("Copy the Python expression", () => void copy(), end, "copy");
  // What was said belongs to the expression of that moment.
  watch(end, () => {
    text();
    setChildren(said, []);
  });
  return div("i-copy", line, said, button);
}
