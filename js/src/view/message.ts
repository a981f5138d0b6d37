/** Below the picture, when there is something to say that lasts: waiting, no kernel, an error and what to do. */
import { joined } from "../format";
import { type Condition, type ReadonlySignal, watch } from "../state";
import { div, html, span } from "./dom";
import { on } from "./events";
import { copyText } from "./inspect/copy";
import type { Pane } from "./pane";

interface Message {
  readonly tone: "plain" | "error";
  /** What it is about: an error's type. */
  readonly title: string;
  readonly lines: readonly string[];
  readonly retry: boolean;
}

const say = (...lines: readonly string[]): Message => ({ tone: "plain", title: "", lines, retry: false });

const complain = (title: string, lines: readonly string[], retry: boolean): Message => ({
  tone: "error",
  title,
  lines: lines.filter(Boolean),
  retry,
});

function errorMessage({ widget }: Pane): Message | null {
  const { error, text, state } = widget.status();
  const failure = widget.graph()?.failure;
  if (widget.problem()) return complain("", [widget.problem()], false);
  if (error) return complain(error.type, [error.message], true);
  if (state === "error") return complain("", [text], true);
  if (!failure) return null;
  const { type, message, op, call, operands, location } = failure;
  const shapes = operands.map(({ shape }) => shape.join("×")).join(", ");
  const got = shapes && `${op || "it"} was given ${shapes}`;
  return complain(type, [message, got, joined([call && `in ${call}`, location], ": ")], false);
}

function messageOf(pane: Pane, condition: Condition): Message | null {
  const { widget, interest } = pane;
  switch (condition) {
    case "idle":
      return null;
    case "busy":
      return widget.overview() ? null : say("Shapes are known from the trace; pictures come as each stage has run.");
    case "waiting": {
      const queued = interest.lacking().size;
      const tiles = queued === 1 ? "1 tile is queued and comes" : `${queued} tiles are queued and come`;
      return say(
        `What is here still answers: hover, pan, inspect.${queued > 0 ? ` ${tiles} when the kernel is free.` : ""}`,
      );
    }
    case "stale":
      return errorMessage(pane) ?? say("This is the last frame that worked.");
    case "no-kernel":
      return say(
        "Statistics are exact, pixels read ≈ from the overview.",
        widget.frames
          ? "More exact pixels and other depths are not in this page: they need the model."
          : "Run the code again for exact pixels and other depths.",
      );
    case "error":
      return errorMessage(pane);
  }
}

export function createMessage(pane: Pane, condition: ReadonlySignal<Condition>, end: AbortSignal): HTMLElement {
  const title = span("message-title");
  const body = span("message-body");
  const words = div("message-words", title, body);
  const retry = html("button.button boxed", "Retry");
  const copyButton = html("button.button boxed", "Copy");
  const element = div("message", { role: "alert" }, words, retry, copyButton);
  const again = (): void => {
    pane.widget.dismissed.set(pane.widget.status.peek().beat);
    pane.interest.retry();
  };
  on(retry, "click", again, end);
  on(copyButton, "click", () => void copyText(words.textContent ?? "", words), end);
  watch(end, () => {
    const message = messageOf(pane, condition());
    element.hidden = !message;
    if (!message) return;
    element.dataset.tone = message.tone;
    title.textContent = message.title;
    body.textContent = message.lines.join("\n");
    retry.hidden = !message.retry || !pane.widget.kernel;
    copyButton.hidden = message.tone !== "error";
  });
  return element;
}
