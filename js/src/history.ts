/** The mean of what each stage gave out, in every frame that has been shown of the present sample. */
import { held } from "./lists";
import type { Overview } from "./protocol";
import { effect, type ReadonlySignal, signal } from "./signals";
import { atEnd } from "./ends";

/** By stage, then by frame. The maps grow; each frame that comes makes a new outer one. */
export type History = ReadonlyMap<string, ReadonlyMap<number, number>>;

export function historyOf(overview: ReadonlySignal<Overview | null>, end: AbortSignal): ReadonlySignal<History> {
  const history = signal<History>(new Map());
  let sample = 0;
  const stop = effect(() => {
    const shown = overview();
    if (!shown) return;
    const next = new Map(shown.sample === sample ? history.peek() : []);
    sample = shown.sample;
    for (const [stage, [summary]] of Object.entries(shown.stages)) {
      const mean = summary?.statistics?.mean;
      if (mean == null) continue;
      held(next as Map<string, Map<number, number>>, stage, () => new Map()).set(shown.frame, mean);
    }
    history.set(next);
  });
  atEnd(end, stop);
  return history;
}
