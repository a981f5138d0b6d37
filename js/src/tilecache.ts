/** Decoded tiles under their keys, least recently used out first, bounded by bytes. */
import type { Tile } from "./interest";

/** The parts of a key that name the slice, without region and size; see `tileKey`. */
const SLICE_PARTS = 7;
const REGION = 7;

function sliceOf(key: string): { slice: string; whole: boolean } {
  let parts: unknown;
  try {
    parts = JSON.parse(key);
  } catch {
    parts = null; // A key of another making is still a name, only without relatives.
  }
  if (!Array.isArray(parts)) return { slice: key, whole: false };
  return { slice: JSON.stringify(parts.slice(0, SLICE_PARTS)), whole: parts[REGION] === null };
}

/** What an entry costs besides its values: keys, objects, maps. */
const OVERHEAD_BYTES = 256;
const cost = (tile: Tile): number => tile.values.byteLength + OVERHEAD_BYTES;

export class TileCache {
  /** In order of use: the least recently used first. */
  readonly #tiles = new Map<string, Tile>();
  /** Slice -> keys of its whole tiles. */
  readonly #relatives = new Map<string, Set<string>>();
  readonly #budget: number;
  #bytes = 0;

  constructor(budget: number) {
    this.#budget = budget;
  }

  get bytes(): number {
    return this.#bytes;
  }

  has(key: string): boolean {
    return this.#tiles.has(key);
  }

  get(key: string): Tile | null {
    const tile = this.#tiles.get(key);
    if (!tile) return null;
    this.#tiles.delete(key);
    this.#tiles.set(key, tile);
    return tile;
  }

  /** The whole tile of the same slice with the most elements. */
  nearest(key: string): Tile | null {
    let best: Tile | null = null;
    for (const other of this.#relatives.get(sliceOf(key).slice) ?? []) {
      const tile = this.#tiles.get(other)!;
      if (!best || tile.rows * tile.columns > best.rows * best.columns) best = tile;
    }
    return best ? this.get(best.key) : null;
  }

  put(tile: Tile): void {
    this.#drop(tile.key);
    this.#tiles.set(tile.key, tile);
    this.#bytes += cost(tile);
    const { slice, whole } = sliceOf(tile.key);
    if (!whole || tile.error) return;
    const keys = this.#relatives.get(slice) ?? new Set();
    this.#relatives.set(slice, keys.add(tile.key));
  }

  /** Back under the budget; `pinned` keys stay, or a view that wants more than that would ask for ever. */
  evict(pinned: ReadonlySet<string>): void {
    for (const key of [...this.#tiles.keys()]) {
      if (this.#bytes <= this.#budget) return;
      if (!pinned.has(key)) this.#drop(key);
    }
  }

  forgetErrors(): void {
    for (const tile of [...this.#tiles.values()]) if (tile.error) this.#drop(tile.key);
  }

  clear(): void {
    this.#tiles.clear();
    this.#relatives.clear();
    this.#bytes = 0;
  }

  #drop(key: string): void {
    const tile = this.#tiles.get(key);
    if (!tile) return;
    this.#tiles.delete(key);
    this.#bytes -= cost(tile);
    const { slice } = sliceOf(key);
    const keys = this.#relatives.get(slice);
    if (keys?.delete(key) && !keys.size) this.#relatives.delete(slice);
  }
}
