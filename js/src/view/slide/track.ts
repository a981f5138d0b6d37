/** The track of the slider: thumbnails of the inputs, a frame around the current one, and runs of the best class. */
import { times } from "../../lists";
import { atEnd } from "../../ends";
import { px } from "../../format";
import { computed, type ReadonlySignal, signal, watch } from "../../state";
import { type Bitmap, putBitmap } from "../canvas";
import { DECORATION, div, html, setAttributes, setChildren, span, turnOff } from "../dom";
import { on, onChoice } from "../events";
import type { Frames } from "./frames";
import { type Memory, runsOf, THUMBNAIL } from "./memory";

/** CSS px of a thumbnail with its gap. */
const CELL = THUMBNAIL + 2;

/** Cells that fit a width: one per frame, or as many as there is room for. */
export const cellCount = (width: number, frames: number): number =>
  Math.max(1, Math.min(frames, Math.floor((width + 2) / CELL)));

/** The frame that cell `i` of `cells` stands for: the middle one of its share. */
export const frameOfCell = (i: number, cells: number, frames: number): number =>
  Math.min(frames - 1, Math.floor(((i + 0.5) * frames) / cells));

function paint(canvas: HTMLCanvasElement, bitmap: Bitmap | null): void {
  canvas.toggleAttribute("data-waiting", !bitmap);
  if (!bitmap) return;
  const longest = Math.max(bitmap.width, bitmap.height);
  putBitmap(canvas, bitmap, (THUMBNAIL * bitmap.width) / longest, (THUMBNAIL * bitmap.height) / longest);
}

/** Width that the element has on screen; follows its size. */
function widthOf(element: HTMLElement, end: AbortSignal): ReadonlySignal<number> {
  const width = signal(0);
  const observer = new ResizeObserver((entries) => width.set(entries[entries.length - 1]!.contentRect.width));
  observer.observe(element);
  atEnd(end, () => observer.disconnect());
  return width;
}

/** The strip of thumbnails; they are only pictures, the range input over them is what is moved. */
function strip(frames: Frames, memory: Memory, cells: ReadonlySignal<number>, end: AbortSignal): HTMLElement {
  const box = div("s-strip", DECORATION);
  const canvases = signal<readonly HTMLCanvasElement[]>([]);
  watch(end, () => {
    canvases.set(times(cells(), () => html("canvas.s-thumbnail")));
    setChildren(
      box,
      canvases().map((canvas) => span("s-cell", canvas)),
    );
  });
  watch(end, () => {
    const [cells, count] = [canvases().length, frames.count()];
    for (const [i, canvas] of canvases().entries())
      paint(canvas, memory.thumbnail(frameOfCell(i, cells, count), count / cells / 2));
  });
  return box;
}

/** The frame around the current thumbnail, with its own picture: not every frame has a cell. */
function marker(frames: Frames, memory: Memory, width: ReadonlySignal<number>, end: AbortSignal): HTMLElement {
  const canvas = html("canvas.s-thumbnail");
  const box = div("s-marker", DECORATION, span("s-cell", canvas));
  watch(end, () => {
    const middle = ((frames.current() + 0.5) * width()) / frames.count();
    const left = Math.max(0, Math.min(width() - CELL, middle - CELL / 2));
    box.style.transform = px`translateX(${left}px)`;
    box.style.setProperty("--nf-s-point", px`${middle - left}px`);
    box.toggleAttribute("data-waiting", frames.behind());
  });
  const pinned = div("s-pinned", DECORATION, { title: "differences to this frame" });
  watch(end, () => {
    const at = frames.reference();
    pinned.hidden = at === null;
    pinned.style.left = px`${(((at ?? 0) + 0.5) * width()) / frames.count()}px`;
  });
  watch(end, () => paint(canvas, memory.thumbnail(frames.current(), 0)));
  return html("div", box, pinned);
}

/** Flips of the best class, seen before playing again. */
function ribbon(frames: Frames, memory: Memory, width: ReadonlySignal<number>, end: AbortSignal): HTMLElement {
  const box = div("s-ribbon");
  const runs = computed(() => runsOf(memory.seen(), frames.count()));
  watch(end, () => {
    box.hidden = !runs().length;
    const unit = width() / frames.count();
    setChildren(
      box,
      runs().map(({ first, last, best }) => {
        const title = first === last ? `frame ${first + 1}: ${best}` : `frames ${first + 1} to ${last + 1}: ${best}`;
        const run = html("button", { tabindex: -1, "data-frame": first, "data-last": last, title }, best);
        run.style.left = px`${first * unit}px`;
        run.style.width = px`${Math.max(2, (last - first + 1) * unit - 2)}px`;
        return run;
      }),
    );
  });
  watch(end, () => {
    runs();
    width();
    const at = frames.current();
    for (const run of box.querySelectorAll<HTMLElement>("[data-frame]"))
      setAttributes(run, { "data-here": Number(run.dataset.frame) <= at && at <= Number(run.dataset.last) });
  });
  onChoice(box, "frame", frames.go, end);
  return box;
}

export function track(frames: Frames, memory: Memory, label: () => string, end: AbortSignal): HTMLElement {
  const box = div("s-track");
  const room = widthOf(box, end);
  const cells = computed(() => (memory.photo() ? cellCount(room(), frames.count()) : 0));
  const width = computed(() => (memory.photo() ? cells() * CELL : room()));
  const range = html("input.s-range", { type: "range", min: 0, step: 1, label: "Frame" });
  watch(end, () => {
    range.max = String(frames.count() - 1);
    range.value = String(frames.current());
    range.setAttribute("aria-valuetext", label());
    turnOff(range, frames.alone());
  });
  watch(end, () => {
    box.toggleAttribute("data-thumbnails", memory.photo());
    box.style.setProperty("--nf-s-width", `${width()}px`);
    // A thumb as wide as one frame's share puts its middle on the middle of that share.
    box.style.setProperty("--nf-s-thumb", `${(width() / frames.count()).toFixed(3)}px`);
  });
  const moved = (): void => {
    frames.go(Number(range.value));
    range.value = String(frames.current.peek());
  };
  on(range, "input", moved, end);
  box.append(
    strip(frames, memory, cells, end),
    marker(frames, memory, width, end),
    range,
    ribbon(frames, memory, width, end),
  );
  return box;
}
