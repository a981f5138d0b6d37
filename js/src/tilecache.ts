/** Decoded tiles under their keys, least recently used out first, bounded by bytes. */
import { held } from "./lists";
import type { Tile } from "./interest";

export interface TileCache {
  has(key: string): boolean;
  get(key: string): Tile | null;
  /** The whole tile of the same slice with the most elements. */
  nearest(key: string): Tile | null;
  put(tile: Tile): void;
  /** Back under the budget; `pinned` keys stay, or a view that wants more than that would ask for ever. */
  evict(pinned: ReadonlySet<string>): void;
  forgetErrors(): void;
  clear(): void;
}

/** See `tileKey`: what names the slice, the region, the size. A key of another making is still a name, without relatives. */
const PARTS = /^(.*),(null|\[[\d,]*\]),(?:null|\[[\d,]*\])\]$/s;
const sliceOf = (key: string): string => PARTS.exec(key)?.[1] ?? key;

/** What an entry costs besides its values: keys, objects, maps. */
const OVERHEAD_BYTES = 256;
const cost = (tile: Tile): number => tile.values.byteLength + OVERHEAD_BYTES;

export function tileCache(budget: number): TileCache {
  /** In order of use: the least recently used first. */
  const tiles = new Map<string, Tile>();
  /** Slice -> its whole tiles. */
  const relatives = new Map<string, Set<Tile>>();
  let bytes = 0;
  const drop = (tile: Tile | undefined): void => {
    if (!tile) return;
    tiles.delete(tile.key);
    bytes -= cost(tile);
    const slice = sliceOf(tile.key);
    const others = relatives.get(slice);
    if (others?.delete(tile) && !others.size) relatives.delete(slice);
  };
  const get = (key: string): Tile | null => {
    const tile = tiles.get(key);
    if (!tile) return null;
    tiles.delete(key);
    tiles.set(key, tile);
    return tile;
  };
  return {
    has: (key) => tiles.has(key),
    get,
    nearest(key) {
      let best: Tile | null = null;
      for (const tile of relatives.get(sliceOf(key)) ?? [])
        if (!best || tile.rows * tile.columns > best.rows * best.columns) best = tile;
      return best && get(best.key);
    },
    put(tile) {
      const { key, error } = tile;
      drop(tiles.get(key));
      tiles.set(key, tile);
      bytes += cost(tile);
      const [, slice, region] = PARTS.exec(key) ?? [];
      if (slice && region === "null" && !error) held(relatives, slice, () => new Set()).add(tile);
    },
    evict(pinned) {
      for (const tile of [...tiles.values()]) {
        if (bytes <= budget) return;
        if (!pinned.has(tile.key)) drop(tile);
      }
    },
    forgetErrors() {
      for (const tile of [...tiles.values()]) if (tile.error) drop(tile);
    },
    clear() {
      tiles.clear();
      relatives.clear();
      bytes = 0;
    },
  };
}
