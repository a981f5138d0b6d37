/**
 * Values that others follow. A write marks what depends on it and then runs the effects; a computed value is worked out
 * when it is read, at most once per change, and only while something it read has really changed. What nothing follows
 * holds on to nothing: computed values follow their sources only while they are followed themselves.
 */

export interface ReadonlySignal<T> {
  /** The value. Called inside `computed` or `effect`, it makes that follow this signal. */
  (): T;
  peek(): T;
}

export interface Signal<T> extends ReadonlySignal<T> {
  set(value: T): void;
}

/** A signal, a computed value or an effect. */
interface Node {
  /** Empty: nobody needs to know. An effect follows itself until it ends. */
  readonly followers: Set<Node>;
  /** What was read, in order, and the version that was read. */
  sources: Map<Node, number>;
  /** The value has changed when this number has. */
  version: number;
  /** `writes` at the last check; -1 before the first, and since a source may have changed. */
  checked: number;
  /** Brings it up to date. */
  refresh(): void;
  /** A source may have changed. */
  stale(): void;
}

/** An effect that always finds a reason to run again would never end. */
const MOST_ROUNDS = 100;

let reader: Node | null = null;
let depth = 0;
/** Grows with every write: what was checked since needs no other check. */
let writes = 0;
const queue = new Set<Node>();

const makeNode = (refresh: () => void, stale: () => void): Node => ({
  followers: new Set(),
  sources: new Map(),
  version: 0,
  checked: -1,
  refresh,
  stale,
});

function reading<T>(node: Node | null, run: () => T): T {
  const before = reader;
  reader = node;
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
    const effects = [...queue];
    queue.clear();
    if (round === MOST_ROUNDS) throw new Error("effects change what they follow without end");
    for (const each of effects)
      try {
        each.refresh();
      } catch (error) {
        errors.push(error);
      }
  }
  if (errors.length) throw errors[0];
}

function tell({ followers }: Node): void {
  for (const follower of followers) follower.stale();
}

function follow(source: Node, follower: Node): void {
  if (!source.followers.size) {
    // Changes since the last check were not told.
    if (source.checked !== writes) source.checked = -1;
    for (const each of source.sources.keys()) follow(each, source);
  }
  source.followers.add(follower);
}

function leave(source: Node, follower: Node): void {
  source.followers.delete(follower);
  if (!source.followers.size) for (const each of source.sources.keys()) leave(each, source);
}

function note(source: Node): void {
  if (!reader || reader.sources.has(source)) return;
  source.refresh();
  reader.sources.set(source, source.version);
  if (reader.followers.size) follow(source, reader);
}

/** In the order of reading: whether a later source counts may depend on an earlier one. */
const isOutdated = ({ sources }: Node): boolean =>
  [...sources].some(([source, version]) => {
    source.refresh();
    return source.version !== version;
  });

/** Runs `run` for `node`, and lets go of the sources that it did not read again. */
function gather<T>(node: Node, run: () => T): T {
  const before = node.sources;
  node.sources = new Map();
  try {
    return reading(node, run);
  } finally {
    for (const source of before.keys()) if (!node.sources.has(source)) leave(source, node);
  }
}

export function signal<T>(value: T): Signal<T> {
  let held = value;
  const nothing = (): void => {};
  const node = makeNode(nothing, nothing);
  const read = (): T => {
    note(node);
    return held;
  };
  const set = (next: T): void => {
    if (next === held) return;
    held = next;
    node.version++;
    writes++;
    batch(() => tell(node));
  };
  return Object.assign(read, { peek: () => held, set });
}

interface Outcome<T> {
  readonly value?: T;
  readonly failure?: { readonly error: unknown };
}

export function computed<T>(work: () => T): ReadonlySignal<T> {
  let outcome: Outcome<T> | null = null;
  let running = false;
  const run = (): Outcome<T> => {
    running = true;
    try {
      return { value: gather(node, work) };
    } catch (error) {
      return { failure: { error } };
    } finally {
      running = false;
    }
  };
  const refresh = (): void => {
    if (running) throw new Error("a computed value depends on itself");
    if (node.checked === writes || (node.followers.size && node.checked >= 0)) return;
    node.checked = writes;
    if (outcome && !isOutdated(node)) return;
    const before = outcome;
    outcome = run();
    if (!before || before.failure || outcome.failure || before.value !== outcome.value) node.version++;
  };
  const stale = (): void => {
    if (node.checked < 0) return;
    node.checked = -1;
    tell(node);
  };
  const node = makeNode(refresh, stale);
  const peek = (): T => {
    refresh();
    if (outcome!.failure) throw outcome!.failure.error;
    return outcome!.value!;
  };
  const read = (): T => {
    note(node);
    return peek();
  };
  return Object.assign(read, { peek });
}

/** Runs `work` now and after changes of what it read; `work` may return its clean-up. Gives what ends it. */
export function effect(work: () => unknown): () => void {
  let cleanUp: unknown;
  const tidy = (): void => {
    const last = cleanUp;
    cleanUp = undefined;
    if (typeof last === "function") untracked(last as () => void);
  };
  const run = (): void => {
    batch(() => {
      tidy();
      cleanUp = gather(node, work);
    });
    // It has ended itself.
    if (!node.followers.size) end();
  };
  const node = makeNode(
    () => node.followers.size && isOutdated(node) && run(),
    () => queue.add(node),
  );
  const end = (): void => {
    queue.delete(node);
    leave(node, node);
    tidy();
  };
  node.followers.add(node);
  try {
    run();
  } catch (error) {
    end();
    throw error;
  }
  return end;
}
