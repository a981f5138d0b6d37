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

type Rectangle = Pick<Piece, "top" | "bottom" | "left" | "right">;

/** One rectangle per band, cut up where a stage of no concern would lie inside. Outer groups first. */
export function groupPieces(grid: Grid, tree: GroupTree): Piece[] {
  const pieces: Piece[] = [];
  for (const [group, members] of tree.members) {
    const inside = new Set(members);
    const bands = new Map<number, number[]>();
    for (const node of members) {
      const band = grid.band[grid.row[node]!]!;
      bands.set(band, [...(bands.get(band) ?? []), node]);
    }
    const rectangles = [...bands].sort(([a], [b]) => a - b).flatMap(([, nodes]) => cut(grid, nodes, inside));
    for (const rectangle of rectangles) pieces.push({ group, level: tree.level.get(group)!, ...rectangle });
  }
  return pieces.sort((a, b) => b.level - a.level);
}

function bounds(grid: Grid, nodes: readonly number[]): Rectangle {
  const rows = nodes.map((node) => grid.row[node]!);
  const columns = nodes.map((node) => grid.column[node]!);
  return { top: Math.min(...rows), bottom: Math.max(...rows), left: Math.min(...columns), right: Math.max(...columns) };
}

function holdsStranger(grid: Grid, { top, bottom, left, right }: Rectangle, inside: ReadonlySet<number>): boolean {
  for (let row = top; row <= bottom; row++) {
    for (let column = left; column <= right; column++) {
      const node = grid.cell[row * grid.columns + column]!;
      if (node >= 0 && !inside.has(node)) return true;
    }
  }
  return false;
}

function cut(grid: Grid, nodes: readonly number[], inside: ReadonlySet<number>): Rectangle[] {
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
