/** Where the parts of a picture go inside the picture box of a card. Arithmetic only; CSS px at 100 %. */
import { times } from "../../lists";
import type { CardSize } from "../../layout/types";
import { type Level, rectAt } from "../../viewport";

export interface Cell {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Box {
  readonly width: number;
  readonly height: number;
}

export interface Mosaic extends Cell {
  /** Front tiles, row by row. */
  readonly cells: readonly Cell[];
  /** Sheets behind the tiles, the hindmost first; all as large as the mosaic. */
  readonly sheets: readonly Cell[];
}

/** From this resolution on: tiles per side, and the size of one. Resolution down, picture down. */
type Row = readonly [from: number, side: number, tile: number];
const TILES: Readonly<Record<CardSize, readonly Row[]>> = {
  small: [
    [100, 2, 38],
    [50, 2, 35],
    [25, 2, 32],
    [12, 2, 28],
    [0, 3, 17.5],
  ],
  large: [
    [100, 3, 44],
    [50, 3, 40],
    [25, 3, 36],
    [12, 3, 32],
    [0, 4, 21],
  ],
  compact: [
    [200, 2, 32],
    [100, 2, 30],
    [50, 2, 28],
    [12, 2, 26],
    [0, 3, 17],
  ],
};
const GAP = 1;
const SHEET_STEP = 3;
const SHEETS_MAX = 8;

/** Depth up, sheets up. */
export const sheetCount = (channels: number): number =>
  Math.max(0, Math.min(SHEETS_MAX, Math.round(Math.log2(Math.max(1, channels))) - 2));

/** Largest size with this aspect inside `side` × `side`. */
export function inside(rows: number, columns: number, width: number, height: number): Box {
  const k = Math.min(width / Math.max(1, columns), height / Math.max(1, rows));
  return { width: Math.max(2, columns * k), height: Math.max(2, rows * k) };
}

/**
 * Tiles for `channels` maps of rows × columns, left in the box and centred in its height. Near, the box is filled with one
 * more tile per side and nothing is hidden behind.
 */
export function mosaic(
  maps: { readonly channels: number; readonly rows: number; readonly columns: number },
  card: CardSize,
  level: Level,
  box: Box,
): Mosaic {
  const resolution = Math.max(maps.rows, maps.columns);
  const [, usual, usualTile] = TILES[card].find(([from]) => resolution >= from)!;
  const near = level === "near";
  const side = Math.max(1, Math.min(near ? usual + 1 : usual, Math.ceil(Math.sqrt(maps.channels))));
  const count = Math.min(maps.channels, side * side);
  const lines = Math.ceil(count / side);
  const sheets = near || maps.channels <= count ? 0 : sheetCount(maps.channels);
  const room = { width: box.width - sheets * SHEET_STEP, height: box.height - sheets * SHEET_STEP };
  const whole = near ? Number.POSITIVE_INFINITY : usual * usualTile + (usual - 1) * GAP;
  const tile = inside(
    maps.rows,
    maps.columns,
    (Math.min(whole, room.width) - (side - 1) * GAP) / side,
    (Math.min(whole, room.height) - (lines - 1) * GAP) / lines,
  );
  const width = side * tile.width + (side - 1) * GAP;
  const height = lines * tile.height + (lines - 1) * GAP;
  const top = (box.height - height + sheets * SHEET_STEP) / 2;
  const cells = times(count, (i) => ({
    x: (i % side) * (tile.width + GAP),
    y: top + Math.floor(i / side) * (tile.height + GAP),
    ...tile,
  }));
  const behind = times(sheets, (i) => {
    const step = (sheets - i) * SHEET_STEP;
    return rectAt(step, top - step, width, height);
  });
  return { x: 0, y: top, width, height, cells, sheets: behind };
}

/** One picture of rows × columns, at most `most` wide or high, left in the box and centred in its height. */
export function single(rows: number, columns: number, most: number, box: Box): Cell {
  const size = inside(rows, columns, Math.min(most, box.width), Math.min(most, box.height));
  return { x: 0, y: (box.height - size.height) / 2, ...size };
}

export const PHOTO_SIZE: Readonly<Record<CardSize, number>> = { small: 86, large: 150, compact: 68 };
export const BARCODE_SIZE: Readonly<Record<CardSize, Box>> = {
  small: { width: 80, height: 64 },
  large: { width: 130, height: 104 },
  compact: { width: 80, height: 64 },
};
export const CLASS_ROWS: Readonly<Record<CardSize, number>> = { small: 5, large: 8, compact: 4 };
/** Vectors up to this length are bars, longer ones a folded barcode. */
export const BARS_UP_TO = 128;

/** Rows and columns of a vector folded into a box so that its cells come out square. */
export function fold(length: number, box: Box): readonly [rows: number, columns: number] {
  const columns = Math.max(1, Math.min(length, Math.round(Math.sqrt((length * box.width) / box.height))));
  return [Math.ceil(length / columns), columns];
}

/** Orthogonal slices as in an atlas: the second under the first, the third beside it, all at one scale. */
export function volumeCells(planes: readonly { rows: number; columns: number }[], box: Box): readonly Cell[] {
  const gap = GAP * 2;
  const left = Math.max(1, ...planes.slice(0, 2).map((plane) => plane.columns));
  const upper = Math.max(1, ...planes.filter((_, i) => i !== 1).map((plane) => plane.rows));
  const [right, lower] = [planes[2]?.columns ?? 0, planes[1]?.rows ?? 0];
  const k = Math.min((box.width - gap) / (left + right), (box.height - gap) / (upper + lower));
  const top = (box.height - (upper + lower) * k - gap) / 2;
  return planes.map(({ rows, columns }, i) =>
    rectAt(i === 2 ? left * k + gap : 0, i === 1 ? top + upper * k + gap : top, columns * k, rows * k),
  );
}
