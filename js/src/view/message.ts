/** Below the picture, when there is something to say that lasts: waiting, no kernel, an error and what to do. */
import { type Condition, type ReadonlySignal, watch } from "../state";
import { html } from "./dom";
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

function errorMessage(pane: Pane): Message | null {
  const { status, problem, graph } = pane.widget;
  if (problem()) return { tone: "error", title: "", lines: [problem()], retry: false };
  const { error, text } = status();
  if (error) return { tone: "error", title: error.type, lines: [error.message], retry: true };
  if (status().state === "error") return { tone: "error", title: "", lines: [text], retry: true };
  const failure = graph()?.failure;
  if (!failure) return null;
  const operands = failure.operands.map(({ shape }) => shape.join("×")).join(", ");
  const where = [failure.call ? `in ${failure.call}` : "", failure.location].filter(Boolean).join(": ");
  const got = operands ? `${failure.op || "it"} was given ${operands}` : "";
  return { tone: "error", title: failure.type, lines: [failure.message, got, where].filter(Boolean), retry: false };
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
    default:
      return condition satisfies never;
  }
}

export function createMessage(pane: Pane, condition: ReadonlySignal<Condition>, end: AbortSignal): HTMLElement {
  const title = html("span.message-title");
  const body = html("span.message-body");
  const words = html("div.message-words", title, body);
  const retry = html("button.button boxed", "Retry");
  const copyButton = html("button.button boxed", "Copy");
  const element = html("div.message", { role: "alert" }, words, retry, copyButton);
  on(
    retry,
    "click",
    () => {
      pane.widget.dismissed.set(pane.widget.status.peek().beat);
      pane.interest.retry();
    },
    end,
  );
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
