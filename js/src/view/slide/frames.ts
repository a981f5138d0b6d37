/** The frame that is shown, and playing through all of them. */
import { delayed } from "../../ends";
import { needKernel } from "../../format";
import {
  type Condition,
  computed,
  conditionOf,
  type ReadonlySignal,
  type Signal,
  signal,
  type ViewContext,
  type WidgetState,
  watch,
} from "../../state";
import { on } from "../events";

export interface Frames {
  readonly count: ReadonlySignal<number>;
  /** Where the reader is; the trait follows. */
  readonly current: ReadonlySignal<number>;
  /** "frame 3 of 8". */
  place(): string;
  /** The pictures are still those of another frame. */
  readonly behind: ReadonlySignal<boolean>;
  readonly playing: ReadonlySignal<boolean>;
  /** Why it cannot be played, in words; "" where it can. */
  readonly still: ReadonlySignal<string>;
  /** Why no other frame can be shown, in words; "" where one can. */
  readonly alone: ReadonlySignal<string>;
  /** The frame to which differences are shown, or null. */
  readonly reference: ReadonlySignal<number | null>;
  /** Times the usual. */
  readonly speed: Signal<number>;
  readonly loop: Signal<boolean>;
  /** Shows differences to this frame; null, the values. */
  compare(reference: number | null): void;
  /** The frame that `go(frame)` shows. */
  reach(frame: number): number;
  /** Stops playing. */
  go(frame: number): void;
  toggle(): void;
}

/** At most so often is the trait written: each write is a message, and the kernel shows only the last one anyway. */
const WRITE_EVERY_MS = 40;
const FRAME_MS = 125;

/** Writes at once, then at most every `WRITE_EVERY_MS`, and always the last value. */
function coalesced(write: (value: number) => void, end: AbortSignal): (value: number) => void {
  const later = delayed(end);
  let waiting: number | null = null;
  let resting = false;
  const ring = (): void => {
    resting = waiting !== null;
    if (waiting === null) return;
    write(waiting);
    waiting = null;
    later(WRITE_EVERY_MS, ring);
  };
  return (value) => {
    waiting = value;
    if (!resting) ring();
  };
}

function reducedMotion(end: AbortSignal): ReadonlySignal<boolean> {
  const reduced = signal(false);
  const query = matchMedia("(prefers-reduced-motion: reduce)");
  reduced.set(query.matches);
  on(query, "change", () => reduced.set(query.matches), end);
  return reduced;
}

/** Where moving to a frame ends: without a kernel, at one whose pictures are here. */
function reachable({ kernel, frames, overview }: WidgetState, frame: number, from: number): number {
  if (kernel) return frame;
  const here = frames ?? [overview()?.frame ?? from];
  const back = frame < from;
  const found = back ? here.filter((other) => other <= frame).at(-1) : here.find((other) => other >= frame);
  return found ?? here.at(back ? 0 : -1) ?? from;
}

/** Why playing is off, in words; "" where it is not. */
function stillness(
  { frames }: WidgetState,
  condition: ReadonlySignal<Condition>,
  end: AbortSignal,
): ReadonlySignal<string> {
  const reduced = reducedMotion(end);
  return computed(() => {
    if (condition() === "no-kernel" && (frames?.length ?? 0) < 2) return "Playing needs the kernel";
    return reduced() ? "Playing is off: the system asks for reduced motion" : "";
  });
}

export function createFrames(context: ViewContext, end: AbortSignal): Frames {
  const { widget } = context;
  const count = computed(() => Math.max(1, widget.frame_count()));
  const clamp = (frame: number): number => Math.max(0, Math.min(count.peek() - 1, Math.round(frame)));
  const current = signal(clamp(widget.frame.peek()));
  const playing = signal(false);
  const [speed, loop] = [signal(1), signal(false)];
  const condition = computed(() => conditionOf(context));
  const still = stillness(widget, condition, end);
  const reach = (frame: number): number => clamp(reachable(widget, clamp(frame), current()));
  const alone = computed(() => (reach(0) === reach(count() - 1) ? needKernel("Other frames") : ""));
  const behind = computed(() => {
    const { frame = current(), reference = null } = widget.overview() ?? {};
    return frame !== current() || (widget.kernel && reference !== widget.reference());
  });
  const write = coalesced((frame) => widget.write("frame", frame), end);
  // The trait may be moved by others: the kernel, a linked slider, another view.
  watch(end, () => {
    count();
    current.set(clamp(widget.frame()));
  });
  const show = (frame: number): void => {
    const next = reach(frame);
    if (next === current.peek()) return;
    current.set(next);
    write(next);
  };
  watch(end, () => {
    if (!playing()) return;
    const ticking = setInterval(() => {
      // The next frame waits for the pictures of this one: none is skipped, however slow the model.
      if (behind.peek()) return;
      const next = reach(current.peek() + 1);
      if (next !== current.peek()) show(next);
      else if (loop.peek()) show(0);
      else playing.set(false);
    }, FRAME_MS / speed());
    return () => clearInterval(ticking);
  });
  watch(end, () => {
    const failed = condition() === "error" || condition() === "stale";
    if (failed || still()) playing.set(false);
  });
  return {
    count,
    current,
    place: () => `frame ${current() + 1} of ${count()}`,
    behind,
    playing,
    still,
    alone,
    reach,
    reference: widget.reference,
    speed,
    loop,
    compare: (reference) => widget.write("reference", reference),
    go(frame) {
      playing.set(false);
      show(frame);
    },
    toggle() {
      if (playing.peek() || still.peek()) {
        playing.set(false);
        return;
      }
      if (reach(current.peek() + 1) === current.peek()) show(0);
      playing.set(true);
    },
  };
}
