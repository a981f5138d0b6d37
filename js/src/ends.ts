/** Lifetimes: what is let go of when a signal aborts. */

/** Runs `release` once `end` aborts. */
export function atEnd(end: AbortSignal, release: () => void): void {
  end.addEventListener("abort", release, { once: true });
}

/** A run of lifetimes inside `end`: each call ends the one before and gives the signal of the next. */
export function successive(end: AbortSignal): () => AbortSignal {
  let current = new AbortController();
  atEnd(end, () => current.abort());
  return () => {
    current.abort();
    current = new AbortController();
    if (end.aborted) current.abort();
    return current.signal;
  };
}

/** Runs something later, in place of what it was to run before; nothing after `end`. */
export function delayed(end: AbortSignal): (after: number, run: () => void) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  atEnd(end, () => clearTimeout(timer));
  return (after, run) => {
    clearTimeout(timer);
    timer = setTimeout(run, after);
  };
}
