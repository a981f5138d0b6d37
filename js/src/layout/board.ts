/** Who runs through the free cells of the grid, at port height. */

import type { Grid } from "./grid";

export interface Board {
  /**
   * Takes each stretch, cells of a row from `first` to `last`, for the bundle; false, and nothing is taken, where one of
   * them holds a card or the line of another bundle.
   */
  take(bundle: string, ...stretches: readonly (readonly [row: number, first: number, last: number])[]): boolean;
  /** Cells of a column hold no card. */
  clear(column: number, first: number, last: number): boolean;
}

export function board({ columns, cell }: Grid): Board {
  const runs = new Map<number, string>();
  const free = (bundle: string, row: number, first: number, last: number): boolean => {
    for (let key = row * columns + first; key <= row * columns + last; key++)
      if (cell[key]! >= 0 || (runs.get(key) ?? bundle) !== bundle) return false;
    return true;
  };
  return {
    take(bundle, ...stretches) {
      if (!stretches.every((stretch) => free(bundle, ...stretch))) return false;
      for (const [row, first, last] of stretches)
        for (let column = first; column <= last; column++) runs.set(row * columns + column, bundle);
      return true;
    },
    clear(column, first, last) {
      for (let row = first; row <= last; row++) if (cell[row * columns + column]! >= 0) return false;
      return true;
    },
  };
}
