/** The rectangles of cells that groups are drawn around. */

import type { Grid } from "./grid";
import type { GroupTree } from "./tree";

export interface Piece {
  readonly group: string;
  /** See GroupTree: how many frames lie inside this one, itself included. */
  readonly level: number;
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

/** Which stage lies where, and which columns a stage takes up: `column` to `last`. */
export interface Cells extends Pick<Grid, "rows" | "columns" | "cell" | "row" | "column" | "firstRow"> {
  readonly last: readonly number[];
}

type Rectangle = Pick<Piece, "top" | "bottom" | "left" | "right">;

/**
 * One rectangle per band, cut up where a stage of no concern would lie inside; those of a group inside another lie in
 * that one's. Outer groups first.
 */
export function groupPieces(grid: Cells, tree: GroupTree): Piece[] {
  const found = new Map<string, Rectangle[]>();
  const outerFirst = [...tree.members].sort(([a], [b]) => tree.level.get(b)! - tree.level.get(a)!);
  const pieces: Piece[] = [];
  for (const [group, members] of outerFirst) {
    const inside = new Set(members);
    const frames = found.get(tree.parent.get(group)!) ?? bands(grid);
    const rectangles = frames.flatMap((frame) => {
      const nodes = members.filter((node) => lies(grid, node, frame));
      return nodes.length ? cut(grid, nodes, inside) : [];
    });
    found.set(group, rectangles);
    for (const rectangle of rectangles) pieces.push({ group, level: tree.level.get(group)!, ...rectangle });
  }
  return pieces;
}

function bands(grid: Cells): Rectangle[] {
  const tops = [...new Set(grid.firstRow)];
  return tops.map((top, index) => ({
    top,
    bottom: (tops[index + 1] ?? grid.rows) - 1,
    left: 0,
    right: grid.columns - 1,
  }));
}

function lies(grid: Cells, node: number, { top, bottom, left, right }: Rectangle): boolean {
  const [row, column] = [grid.row[node]!, grid.column[node]!];
  return row >= top && row <= bottom && column >= left && column <= right;
}

function bounds(grid: Cells, nodes: readonly number[]): Rectangle {
  const rows = nodes.map((node) => grid.row[node]!);
  return {
    top: Math.min(...rows),
    bottom: Math.max(...rows),
    left: Math.min(...nodes.map((node) => grid.column[node]!)),
    right: Math.max(...nodes.map((node) => grid.last[node]!)),
  };
}

function holdsStranger(grid: Cells, { top, bottom, left, right }: Rectangle, inside: ReadonlySet<number>): boolean {
  for (let row = top; row <= bottom; row++) {
    for (let column = left; column <= right; column++) {
      const node = grid.cell[row * grid.columns + column]!;
      if (node >= 0 && !inside.has(node)) return true;
    }
  }
  return false;
}

function cut(grid: Cells, nodes: readonly number[], inside: ReadonlySet<number>): Rectangle[] {
  const whole = bounds(grid, nodes);
  if (!holdsStranger(grid, whole, inside)) return [whole];
  const rectangles: Rectangle[] = [];
  for (let row = whole.top; row <= whole.bottom; row++) {
    let run: Rectangle | null = null;
    for (let column = whole.left; column <= whole.right; column++) {
      const node = grid.cell[row * grid.columns + column]!;
      if (node >= 0 && !inside.has(node)) run = null;
      else if (node >= 0) {
        const left: number = run?.left ?? column;
        if (run) rectangles.pop();
        run = { top: row, bottom: row, left, right: column };
        rectangles.push(run);
      }
    }
  }
  return rectangles;
}

/** Of two stages in one row: level of the innermost piece that starts in that row and holds both, or 0. */
export function sharedLevel(pieces: readonly Piece[], row: number, a: number, b: number): number {
  let level = 0;
  for (const piece of pieces) {
    const holds = piece.top === row && piece.left <= Math.min(a, b) && piece.right >= Math.max(a, b);
    if (holds) level = level === 0 ? piece.level : Math.min(level, piece.level);
  }
  return level;
}
