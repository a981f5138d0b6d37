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
import { type HostKernel, Silence } from "./silence";
import { TileCache } from "./tilecache";
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

class Store implements Interest {
  readonly arrived = signal(0);
  readonly lacking = signal<ReadonlySet<string>>(new Set());
  readonly #cache: TileCache;
  /** Owner -> requests, the one that spoke last at the end. */
  readonly #claims = new Map<object, readonly TileRequest[]>();
  readonly #send: (wanted: Wanted) => void;
  #seq: number;
  /** `seq` that waits for an answer; 0 when none does. */
  #inFlight = 0;
  /** Keys of the `wanted` that the kernel has now. */
  #sent: ReadonlySet<string> = new Set();
  #scheduled = false;
  /** The kernel has taken what was sent and waits for a cell: newer interest takes its place. */
  #held = false;
  readonly #silence: Silence;

  constructor(options: InterestOptions, end: AbortSignal) {
    this.#send = options.send;
    this.#seq = options.seq;
    this.#silence = new Silence(options.kernel ?? (() => undefined), () => this.#sayAgain());
    this.#cache = new TileCache(options.budget ?? BUDGET_BYTES);
    atEnd(end, () => this.#end());
  }

  get slow(): ReadonlySignal<boolean> {
    return this.#silence.slow;
  }

  get silent(): ReadonlySignal<boolean> {
    return this.#silence.silent;
  }

  claim(end: AbortSignal): Claim {
    const owner = {};
    const drop = (): void => {
      if (this.#claims.delete(owner)) this.#schedule();
    };
    atEnd(end, drop);
    return {
      want: (requests) => {
        if (end.aborted || sameKeys(this.#claims.get(owner) ?? [], requests)) return;
        this.#claims.delete(owner);
        if (requests.length) this.#claims.set(owner, requests);
        this.#schedule();
      },
    };
  }

  get(key: string): Tile | null {
    this.arrived();
    return this.#cache.get(key);
  }

  nearest(request: TileRequest): Tile | null {
    const same = this.get(request.key);
    return same && !same.error ? same : this.#cache.nearest(request.key);
  }

  accept(tiles: Tiles): void {
    for (const info of tiles.tiles) {
      const { data: _, ...rest } = info;
      this.#cache.put({ ...rest, values: info.error ? new Float32Array(0) : tileValues(info) });
    }
    if (tiles.seq >= this.#inFlight) this.#inFlight = 0;
    this.#cache.evict(new Set(this.#wanted().map((request) => request.key)));
    batch(() => {
      if (tiles.tiles.length) this.arrived.set(this.arrived.peek() + 1);
      // Saved tiles, which nobody here asked for, are no answer.
      if (this.#sent.size) this.#silence.answered();
      this.#flush();
      this.#expect();
    });
  }

  heard(state: Status["state"]): void {
    this.#silence.heard(state);
    this.#held = state === "waiting";
    if (state === "error" || state === "stale") {
      // The same is not asked again before `retry`, but other interest goes out.
      this.#inFlight = 0;
      this.#silence.calm();
      this.#flush();
    } else {
      this.#expect();
      if (this.#held) this.#flush();
    }
  }

  overtaken(wanted: Wanted): void {
    if (wanted.seq <= this.#seq) return;
    // Ours is gone from the trait; it goes out again after the answer to the other one.
    this.#seq = wanted.seq;
    this.#sent = new Set(wanted.tiles.map((tile) => tile.key));
    this.#inFlight = wanted.tiles.length ? wanted.seq : 0;
  }

  retry(): void {
    this.#cache.forgetErrors();
    this.#silence.answered();
    this.arrived.set(this.arrived.peek() + 1);
    this.#sayAgain();
  }

  /** Requests of all claims, the newest claim's first, each key once. */
  #wanted(): TileRequest[] {
    const byKey = new Map<string, TileRequest>();
    for (const requests of [...this.#claims.values()].reverse())
      for (const request of requests) if (!byKey.has(request.key)) byKey.set(request.key, request);
    return [...byKey.values()];
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    const lacking = this.#wanted().filter((request) => !this.#cache.has(request.key));
    const before = this.lacking.peek();
    if (lacking.length !== before.size || lacking.some((request) => !before.has(request.key)))
      this.lacking.set(new Set(lacking.map((request) => request.key)));
    if (!lacking.length) this.#silence.calm();
    if (this.#inFlight > 0 && !this.#held) return;
    const next = lacking.slice(0, BATCH);
    // What the kernel already has on its list still comes; saying it again would only restart its work.
    const known = next.every((request) => this.#sent.has(request.key));
    const withdrawn = !next.length && [...this.#sent].some((key) => !this.#cache.has(key));
    if (!known || withdrawn) this.#write(next);
  }

  #write(tiles: readonly TileRequest[]): void {
    this.#seq++;
    this.#sent = new Set(tiles.map((tile) => tile.key));
    this.#inFlight = tiles.length ? this.#seq : 0;
    this.#expect();
    this.#send({ seq: this.#seq, tiles });
  }

  #sayAgain(): void {
    this.#inFlight = 0;
    this.#sent = new Set();
    this.#flush();
  }

  #expect(): void {
    if (this.lacking.peek().size) this.#silence.expect();
  }

  #end(): void {
    this.#silence.calm();
    this.#claims.clear();
    this.#cache.clear();
  }
}

function sameKeys(a: readonly TileRequest[], b: readonly TileRequest[]): boolean {
  return a.length === b.length && a.every((request, i) => request.key === b[i]!.key);
}

export function createInterest(options: InterestOptions, end: AbortSignal): Interest {
  return new Store(options, end);
}
