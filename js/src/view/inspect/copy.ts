/** A line of Python with a button that copies it. */
import { atEnd } from "../../ends";
import { type ReadonlySignal, watch } from "../../state";
import { html } from "../dom";
import { live, textButton } from "../parts";

const DONE_MS = 1600;

/** Where the clipboard is denied, or the host has none, the text is selected for the reader to copy. */
export function copyLine(text: ReadonlySignal<string>, end: AbortSignal): HTMLElement {
  const line = html("code.i-expression", { tabindex: 0, "aria-label": "Python expression" }, live(text, end));
  const said = html("span.i-said", { role: "status" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const say = (words: string): void => {
    said.textContent = words;
    clearTimeout(timer);
    timer = setTimeout(() => said.replaceChildren(), DONE_MS);
  };
  atEnd(end, () => clearTimeout(timer));
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text.peek());
      say("copied");
    } catch {
      // Denied, or a page without a secure context, where `clipboard` is undefined.
      select(line);
      say("selected: press Ctrl+C or ⌘C");
    }
  };
  const button = textButton("Copy the Python expression", () => void copy(), end, "copy");
  // What was said belongs to the expression of that moment.
  watch(end, () => {
    text();
    said.replaceChildren();
  });
  return html("div.i-copy", line, said, button);
}

function select(element: HTMLElement): void {
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
  element.focus();
}
