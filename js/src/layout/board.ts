/** Cells of the grid that lines may run through. */

import type { Grid } from "./grid";

/** Who runs through the free cells of the grid, at port height. */
export class Board {
  private readonly runs = new Map<number, string>();

  constructor(private readonly grid: Grid) {}

  private key(row: number, column: number): number {
    return row * this.grid.columns + column;
  }

  /** Cells from `first` to `last` hold no card, and no line but the bundle's own. */
  free(row: number, first: number, last: number, bundle: string): boolean {
    for (let column = first; column <= last; column++) {
      const key = this.key(row, column);
      if (this.grid.cell[key]! >= 0 || (this.runs.get(key) ?? bundle) !== bundle) return false;
    }
    return true;
  }

  clear(column: number, first: number, last: number): boolean {
    for (let row = first; row <= last; row++) if (this.grid.cell[this.key(row, column)]! >= 0) return false;
    return true;
  }

  reserve(row: number, first: number, last: number, bundle: string): void {
    for (let column = first; column <= last; column++) this.runs.set(this.key(row, column), bundle);
  }
}
