/**
 * Values that others follow. A write marks what depends on it and then runs the effects; a computed value is worked out
 * when it is read, at most once per change, and only while something it read has really changed. What nothing follows
 * holds on to nothing: computed values follow their sources only while they are followed themselves.
 */

export interface ReadonlySignal<T> {
  /** Reading it inside `computed` or `effect` makes that follow this value. */
  readonly value: T;
  peek(): T;
}

export type Signal<T> = ReadonlySignal<T> & { value: T };

interface Follower {
  /** What was read, in order, and the version that was read. */
  sources: Map<Source, number>;
  readonly live: boolean;
  stale(): void;
}

abstract class Source {
  readonly followers = new Set<Follower>();
  /** Brings the value up to date; it has changed when this number has. */
  abstract version(): number;
  follow(follower: Follower): void {
    this.followers.add(follower);
  }
  leave(follower: Follower): void {
    this.followers.delete(follower);
  }
}

/** An effect that always finds a reason to run again would never end. */
const MOST_ROUNDS = 100;

let reader: Follower | null = null;
let depth = 0;
/** Grows with every write: what was checked since needs no other check. */
let writes = 0;
const queue = new Set<Effect>();

function reading<T>(follower: Follower | null, run: () => T): T {
  const before = reader;
  reader = follower;
  try {
    return run();
  } finally {
    reader = before;
  }
}

export const untracked = <T>(run: () => T): T => reading(null, run);

/** Writes inside take effect together, at its end. */
export function batch<T>(run: () => T): T {
  depth++;
  try {
    return run();
  } finally {
    try {
      if (depth === 1) flush();
    } finally {
      depth--;
    }
  }
}

function flush(): void {
  const errors: unknown[] = [];
  for (let round = 0; queue.size; round++) {
    if (round === MOST_ROUNDS) {
      queue.clear();
      throw new Error("effects change what they follow without end");
    }
    const effects = [...queue];
    queue.clear();
    for (const each of effects)
      try {
        each.run();
      } catch (error) {
        errors.push(error);
      }
  }
  if (errors.length) throw errors[0];
}

function note(source: Source): void {
  if (!reader || reader.sources.has(source)) return;
  reader.sources.set(source, source.version());
  if (reader.live) source.follow(reader);
}

/** In the order of reading: whether a later source counts may depend on an earlier one. */
const isOutdated = ({ sources }: Follower): boolean =>
  [...sources].some(([source, version]) => source.version() !== version);

/** Runs `run` for `follower`, and lets go of the sources that it did not read again. */
function gather<T>(follower: Follower, run: () => T): T {
  const before = follower.sources;
  follower.sources = new Map();
  try {
    return reading(follower, run);
  } finally {
    for (const source of before.keys()) if (!follower.sources.has(source)) source.leave(follower);
  }
}

class State<T> extends Source implements Signal<T> {
  #version = 0;
  #value: T;
  constructor(value: T) {
    super();
    this.#value = value;
  }
  get value(): T {
    note(this);
    return this.#value;
  }
  set value(value: T) {
    if (value === this.#value) return;
    this.#value = value;
    this.#version++;
    writes++;
    batch(() => {
      for (const follower of this.followers) follower.stale();
    });
  }
  peek(): T {
    return this.#value;
  }
  version(): number {
    return this.#version;
  }
}

class Computed<T> extends Source implements Follower, ReadonlySignal<T> {
  sources = new Map<Source, number>();
  readonly #work: () => T;
  #version = 0;
  /** `writes` at the last check; -1 before the first. */
  #checked = -1;
  #stale = true;
  #running = false;
  #result: { readonly value: T } | { readonly error: unknown } | null = null;
  constructor(work: () => T) {
    super();
    this.#work = work;
  }
  get live(): boolean {
    return this.followers.size > 0;
  }
  get value(): T {
    note(this);
    return this.peek();
  }
  peek(): T {
    this.version();
    const result = this.#result!;
    if ("error" in result) throw result.error;
    return result.value;
  }
  version(): number {
    if (this.#running) throw new Error("a computed value depends on itself");
    if (this.#checked === writes || (this.live && !this.#stale)) return this.#version;
    this.#checked = writes;
    this.#stale = false;
    if (!this.#result || isOutdated(this)) this.#renew();
    return this.#version;
  }
  #renew(): void {
    const before = this.#result;
    this.#running = true;
    try {
      this.#result = { value: gather(this, this.#work) };
    } catch (error) {
      this.#result = { error };
    } finally {
      this.#running = false;
    }
    const same = before !== null && "value" in before && "value" in this.#result && before.value === this.#result.value;
    if (!same) this.#version++;
  }
  stale(): void {
    if (this.#stale) return;
    this.#stale = true;
    for (const follower of this.followers) follower.stale();
  }
  override follow(follower: Follower): void {
    if (!this.live) {
      // Changes since the last check were not told.
      this.#stale = this.#checked !== writes;
      for (const source of this.sources.keys()) source.follow(this);
    }
    super.follow(follower);
  }
  override leave(follower: Follower): void {
    super.leave(follower);
    if (!this.live) for (const source of this.sources.keys()) source.leave(this);
  }
}

class Effect implements Follower {
  sources = new Map<Source, number>();
  readonly live = true;
  readonly #work: () => unknown;
  #cleanUp: unknown;
  #ended = false;
  constructor(work: () => unknown) {
    this.#work = work;
  }
  stale(): void {
    queue.add(this);
  }
  run(first = false): void {
    if (this.#ended || !(first || isOutdated(this))) return;
    batch(() => {
      this.#tidy();
      this.#cleanUp = gather(this, this.#work);
    });
    // It has ended itself.
    if (this.#ended) this.end();
  }
  end(): void {
    this.#ended = true;
    queue.delete(this);
    for (const source of this.sources.keys()) source.leave(this);
    this.#tidy();
  }
  #tidy(): void {
    const cleanUp = this.#cleanUp;
    this.#cleanUp = undefined;
    if (typeof cleanUp === "function") untracked(cleanUp as () => void);
  }
}

export const signal = <T>(value: T): Signal<T> => new State(value);
export const computed = <T>(work: () => T): ReadonlySignal<T> => new Computed(work);

/** Runs `work` now and after changes of what it read; `work` may return its clean-up. Gives what ends it. */
export function effect(work: () => unknown): () => void {
  const made = new Effect(work);
  try {
    made.run(true);
  } catch (error) {
    made.end();
    throw error;
  }
  return () => made.end();
}
