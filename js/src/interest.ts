/**
 * The interest set: what the views lack goes out as `wanted`, what comes back in `tiles` is kept here.
 *
 * One store per model, shared by its views. A view part holds a `Claim` and says with `want` what it needs now; it
 * never asks for anything. At most one `wanted` is unanswered at a time, and the next one carries the interest of that
 * moment, so that a hundred pointer moves during one forward end in one more message.
 */
import { atEnd } from "./ends";
import { batch, type ReadonlySignal, signal } from "./signals";
import type { Status, TileInfo, TileRequest, Tiles, Wanted } from "./protocol";
import { type HostKernel, silence } from "./silence";
import { tileCache } from "./tilecache";
import { tileValues } from "./wire";

/** A decoded answer. `values: [rows, columns]`, row by row; empty when `error` says why. */
export interface Tile extends Omit<TileInfo, "data"> {
  readonly values: Float32Array | Float64Array;
}

/** What one view part needs. It ends with the AbortSignal that it was made with. */
export interface Claim {
  /** Replaces what this part wanted before; first is most urgent. */
  want(requests: readonly TileRequest[]): void;
}

export interface Interest {
  claim(signal: AbortSignal): Claim;
  /** The tile under this key, or null. Inside an effect, runs it again when tiles arrive. */
  get(key: string): Tile | null;
  /** That tile, else the one of the same slice with the most elements: something to show while waiting. */
  nearest(request: TileRequest): Tile | null;
  /** Grows with every batch that brought something. */
  readonly arrived: ReadonlySignal<number>;
  /** Keys that are wanted and not there. */
  readonly lacking: ReadonlySignal<ReadonlySet<string>>;
  /** Something has been wanted without an answer for 700 ms. */
  readonly slow: ReadonlySignal<boolean>;
  /** The same for longer than a kernel that is there would need; see `PATIENCE_MS`. */
  readonly silent: ReadonlySignal<boolean>;
  /** A batch from the kernel. */
  accept(tiles: Tiles): void;
  /** The kernel has spoken. Idle: it has nothing left to do; after an error it will not answer what it was asked. */
  heard(state: Status["state"]): void;
  /** `wanted` as another client of the same model wrote it. */
  overtaken(wanted: Wanted): void;
  /** Forgets errors and asks again for everything that is lacking. */
  retry(): void;
}

/** Requests per message: what a front end writes is echoed back to it, so it stays small. */
const BATCH = 48;
const BUDGET_BYTES = 96 * 2 ** 20;

export interface InterestOptions {
  /** Writes the trait. */
  readonly send: (wanted: Wanted) => void;
  /** The `seq` to go on from. */
  readonly seq: number;
  readonly budget?: number;
  readonly kernel?: HostKernel;
}

const keysOf = (requests: readonly TileRequest[]): ReadonlySet<string> => new Set(requests.map(({ key }) => key));

const sameKeys = (a: readonly TileRequest[], b: readonly TileRequest[]): boolean =>
  a.length === b.length && a.every(({ key }, i) => key === b[i]!.key);

export function createInterest(options: InterestOptions, end: AbortSignal): Interest {
  const arrived = signal(0);
  const lacking = signal<ReadonlySet<string>>(new Set());
  const cache = tileCache(options.budget ?? BUDGET_BYTES);
  /** Owner -> requests, the one that spoke last at the end. */
  const claims = new Map<object, readonly TileRequest[]>();
  let { seq } = options;
  /** `seq` that waits for an answer; 0 when none does. */
  let inFlight = 0;
  /** Keys of the `wanted` that the kernel has now. */
  let sent: ReadonlySet<string> = new Set();
  let scheduled = false;
  /** The kernel has taken what was sent and waits for a cell: newer interest takes its place. */
  let held = false;

  /** Requests of all claims, the newest claim's first, each key once. */
  const wanted = (): TileRequest[] => {
    const byKey = new Map<string, TileRequest>();
    for (const request of [...claims.values()].reverse().flat())
      if (!byKey.has(request.key)) byKey.set(request.key, request);
    return [...byKey.values()];
  };
  const expect = (): void => {
    if (lacking.peek().size) quiet.expect();
  };
  const write = (tiles: readonly TileRequest[]): void => {
    seq++;
    sent = keysOf(tiles);
    inFlight = tiles.length && seq;
    expect();
    options.send({ seq, tiles });
  };
  const flush = (): void => {
    const missing = wanted().filter(({ key }) => !cache.has(key));
    const before = lacking.peek();
    if (missing.length !== before.size || missing.some(({ key }) => !before.has(key))) lacking.set(keysOf(missing));
    if (!missing.length) quiet.calm();
    if (inFlight && !held) return;
    const next = missing.slice(0, BATCH);
    // What the kernel already has on its list still comes; saying it again would only restart its work.
    const known = next.every(({ key }) => sent.has(key));
    const withdrawn = !next.length && [...sent].some((key) => !cache.has(key));
    if (!known || withdrawn) write(next);
  };
  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      flush();
    });
  };
  const sayAgain = (): void => {
    inFlight = 0;
    sent = new Set();
    flush();
  };
  const get = (key: string): Tile | null => {
    arrived();
    return cache.get(key);
  };
  const quiet = silence(options.kernel ?? (() => undefined), sayAgain);
  atEnd(end, () => {
    quiet.calm();
    claims.clear();
    cache.clear();
  });
  return {
    arrived,
    lacking,
    slow: quiet.slow,
    silent: quiet.silent,
    get,
    claim(scope) {
      const owner = {};
      atEnd(scope, () => claims.delete(owner) && schedule());
      return {
        want(requests) {
          if (scope.aborted || sameKeys(claims.get(owner) ?? [], requests)) return;
          claims.delete(owner);
          if (requests.length) claims.set(owner, requests);
          schedule();
        },
      };
    },
    nearest({ key }) {
      const same = get(key);
      return same && !same.error ? same : cache.nearest(key);
    },
    accept({ seq: answered, tiles }) {
      for (const { data, ...info } of tiles)
        cache.put({ ...info, values: info.error ? new Float32Array(0) : tileValues({ data, ...info }) });
      if (answered >= inFlight) inFlight = 0;
      cache.evict(keysOf(wanted()));
      batch(() => {
        if (tiles.length) arrived.set(arrived.peek() + 1);
        // Saved tiles, which nobody here asked for, are no answer.
        if (sent.size) quiet.answered();
        flush();
        expect();
      });
    },
    heard(state) {
      quiet.heard(state);
      held = state === "waiting";
      if (state === "error" || state === "stale") {
        // The same is not asked again before `retry`, but other interest goes out.
        inFlight = 0;
        quiet.calm();
        flush();
      } else {
        expect();
        if (held) flush();
      }
    },
    overtaken(other) {
      if (other.seq <= seq) return;
      // Ours is gone from the trait; it goes out again after the answer to the other one.
      seq = other.seq;
      sent = keysOf(other.tiles);
      inFlight = other.tiles.length && seq;
    },
    retry() {
      cache.forgetErrors();
      quiet.answered();
      arrived.set(arrived.peek() + 1);
      sayAgain();
    },
  };
}
