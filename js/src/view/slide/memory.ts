/** What is known of each frame: a small picture of its input and the best class. The kernel is asked for nothing. */
import type { Picture } from "../../protocol";
import { computed, picturesOf, type ReadonlySignal, signal, watch, type WidgetState } from "../../state";
import { type Bitmap, photoBitmap } from "../canvas";

export interface Seen {
  /** Null where the input is no photo, or the picture had to make room. */
  readonly thumbnail: Bitmap | null;
  /** "" where the model names no classes. */
  readonly best: string;
}

export interface Memory {
  /** By frame; only what has been shown since trace and sample are what they are. */
  readonly seen: ReadonlySignal<ReadonlyMap<number, Seen>>;
  /** A picture of what goes in at this frame, or at the nearest within `reach` frames; null where none is known. */
  thumbnail(frame: number, reach: number): Bitmap | null;
  /** Whether the input is a photo at all. */
  readonly photo: ReadonlySignal<boolean>;
}

/** CSS px of a thumbnail's longer side. */
export const THUMBNAIL = 38;
/** Thumbnails kept: some megabytes. */
const MOST = 400;

type Photo = Extract<Picture, { kind: "photo" }>;

function small(photo: Photo, ratio: number): Bitmap {
  const longest = Math.max(photo.rows, photo.columns);
  const size = (side: number): number => (THUMBNAIL * side) / longest;
  return photoBitmap(photo, { width: size(photo.columns), height: size(photo.rows), ratio });
}

function seenIn(widget: WidgetState, ratio: number): Seen {
  const [photo] = picturesOf(widget, "photo", ({ kind }) => kind === "input");
  const best = picturesOf(widget, "classes", ({ kind }) => kind === "output")[0]?.entries[0];
  return { thumbnail: photo ? small(photo, ratio) : null, best: best ? best.name || `class ${best.index}` : "" };
}

export function remember(widget: WidgetState, ratio: ReadonlySignal<number>, end: AbortSignal): Memory {
  const seen = signal<ReadonlyMap<number, Seen>>(new Map());
  const photo = signal(false);
  let era = "";
  watch(end, () => {
    const [graph, overview] = [widget.graph(), widget.overview()];
    // Of a single frame nothing is shown.
    if (!graph || !overview || widget.frame_count() < 2) return;
    const now = `${graph.trace}/${overview.sample}`;
    const before = now === era ? seen.peek() : new Map<number, Seen>();
    era = now;
    const next = new Map(before);
    next.delete(overview.frame);
    const latest = seenIn(widget, ratio());
    next.set(overview.frame, latest);
    seen.set(forget(next));
    photo.set(latest.thumbnail !== null);
  });
  /** Those that the kernel made in its idle time. */
  const idle = computed(() => {
    const { sample, frames } = widget.thumbnails();
    const shown = Object.entries(frames).filter((entry): entry is [string, Photo] => entry[1].kind === "photo");
    const fits = sample === (widget.overview()?.sample ?? 0);
    return new Map(fits ? shown.map(([frame, picture]) => [Number(frame), small(picture, ratio())]) : []);
  });
  const thumbnail = (frame: number, reach: number): Bitmap | null => {
    for (let away = 0; away <= reach; away++)
      for (const at of [frame - away, frame + away]) {
        const found = seen().get(at)?.thumbnail ?? idle().get(at);
        if (found) return found;
      }
    return null;
  };
  return { seen, photo, thumbnail };
}

/** Drops the oldest pictures over the limit; the classes are only words and stay. */
function forget(seen: Map<number, Seen>): Map<number, Seen> {
  let over = [...seen.values()].filter(({ thumbnail }) => thumbnail).length - MOST;
  for (const [frame, one] of seen) {
    if (over <= 0) break;
    if (!one.thumbnail) continue;
    seen.set(frame, { ...one, thumbnail: null });
    over--;
  }
  return seen;
}

/** Consecutive frames that were seen and have the same best class. */
export interface Run {
  readonly first: number;
  readonly last: number;
  readonly best: string;
}

export function runsOf(seen: ReadonlyMap<number, Seen>, count: number): Run[] {
  const runs: Run[] = [];
  for (const [frame, { best }] of [...seen].sort(([a], [b]) => a - b)) {
    const before = runs[runs.length - 1];
    if (!best || frame >= count) continue;
    if (before && before.last === frame - 1 && before.best === best) runs[runs.length - 1] = { ...before, last: frame };
    else runs.push({ first: frame, last: frame, best });
  }
  return runs;
}
