/** Under the graph: which frame of the input is shown, playing through them, and which sample of the batch. */
import { joined } from "../format";
import { computed, lacking, type ReadonlySignal, type ViewContext, watch } from "../state";
import { div, html, icon, iconButton, setAttributes, setChildren, span, turnOff } from "./dom";
import { on } from "./events";
import { live, textButton } from "./parts";
import { createFrames, type Frames } from "./slide/frames";
import { menu } from "./slide/menu";
import { remember } from "./slide/memory";
import { track } from "./slide/track";

function playButton({ playing, still, toggle }: Frames, end: AbortSignal): HTMLButtonElement {
  const button = html("button.button s-play");
  watch(end, () => {
    const label = playing() ? "Pause" : "Play";
    setChildren(button, [icon(playing() ? "pause" : "play")]);
    setAttributes(button, { label, title: still() || `${label} (space)` });
    button.disabled = still() !== "";
  });
  on(button, "click", toggle, end);
  return button;
}

/** Pins this frame: what is shown is the difference to it, until it is reset. */
function comparison({ widget }: ViewContext, frames: Frames, end: AbortSignal): readonly [HTMLElement, HTMLElement] {
  const { current, reference, compare } = frames;
  const pin = html("button.button", "Δ");
  const reset = textButton("", () => compare(null), end);
  watch(end, () => {
    const frame = reference();
    const label = frame === null ? "Pin this frame: show differences to it" : "Pin this frame instead";
    setAttributes(pin, { label, "aria-pressed": frame !== null });
    const off = lacking(widget, "Differences");
    turnOff(pin, off || (frame === current() ? label : ""));
    reset.hidden = frame === null;
    const text = `Δ to frame ${(frame ?? 0) + 1} ✕`;
    reset.textContent = text;
    // Speech input says what it reads.
    setAttributes(reset, { label: `${text}, show values again` });
    turnOff(reset, lacking(widget, "Values"));
  });
  on(pin, "click", () => compare(current.peek()), end);
  return [pin, reset];
}

function transport(context: ViewContext, frames: Frames, label: ReadonlySignal<string>, end: AbortSignal): HTMLElement {
  const { alone, current, reach } = frames;
  const step = (by: number) => () => frames.go(current.peek() + by);
  const back = iconButton("previous", "Previous frame", step(-1), end);
  const forward = iconButton("next", "Next frame", step(1), end);
  watch(end, () => {
    const off = (by: number, end: string): string => (reach(current() + by) === current() ? alone() || end : "");
    turnOff(back, off(-1, "No frame before it"));
    turnOff(forward, off(1, "No frame after it"));
  });
  const [pin, reset] = comparison(context, frames, end);
  const name = html("b.s-label", live(label, end));
  watch(end, () => {
    name.hidden = !label();
    name.title = label();
  });
  return div(
    "s-transport",
    div("s-buttons", back, playButton(frames, end), forward, pin, menu(context, frames, end)),
    name,
    span("s-place", live(frames.place, end)),
    reset,
  );
}

/** Index into the batch, from 0 as in Python. */
function sampleChooser({ widget }: ViewContext, end: AbortSignal): HTMLElement {
  const input = html("input.s-number", {
    type: "number",
    min: 0,
    step: 1,
    label: "Sample of the batch",
  });
  const most = computed(() => Math.max(0, widget.sample_count() - 1));
  watch(end, () => {
    input.max = String(most());
    input.value = String(widget.sample());
    turnOff(input, lacking(widget, "Other samples"));
  });
  const changed = (): void => {
    const asked = Math.round(Number(input.value));
    const sample = Number.isFinite(asked) ? Math.max(0, Math.min(most.peek(), asked)) : widget.sample.peek();
    input.value = String(sample);
    if (sample !== widget.sample.peek()) widget.write("sample", sample);
  };
  on(input, "change", changed, end);
  const total = html(
    "span",
    live(() => `of 0–${most()}`, end),
  );
  const box = html("label.s-sample", "sample", input, total);
  watch(end, () => {
    box.hidden = most() === 0;
  });
  return box;
}

/** Hidden where there is nothing to choose. */
export function createSlider(context: ViewContext, end: AbortSignal): HTMLElement {
  const { widget, view } = context;
  const frames = createFrames(context, end);
  const memory = remember(widget, view.ratio, end);
  const label = computed(() => widget.frame_labels()[frames.current()] ?? "");
  const spoken = (): string => joined([label(), frames.place()], ", ");
  const film = div("s-film", transport(context, frames, label, end), track(frames, memory, spoken, end));
  const root = div("slider", { role: "group", label: "Frames" }, film, sampleChooser(context, end));
  watch(end, () => {
    film.hidden = frames.count() <= 1;
    root.hidden = frames.count() <= 1 && widget.sample_count() <= 1;
  });
  on<KeyboardEvent>(root, "keydown", (event) => steer(event, frames), end);
  return root;
}

/** Keys of the whole strip; fields and buttons keep theirs. None of them may reach the graph, which has its own. */
function steer(event: KeyboardEvent, frames: Frames): void {
  if (event.key === "Escape") return;
  event.stopPropagation();
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target as HTMLElement;
  if (event.key === " " && !target.closest("button")) {
    event.preventDefault();
    frames.toggle();
    return;
  }
  if (target.closest("input, select")) return;
  const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };
  const step = steps[event.key];
  if (step === undefined || frames.count.peek() <= 1) return;
  event.preventDefault();
  frames.go(frames.current.peek() + step);
}
