/** Everything beside the trunk as chains of stages, and the column of each stage on one endless row. */

import { held, times } from "../lists";
import { CARDS, GAP, GUTTER } from "./metrics";
import type { Link, Net } from "./net";

export interface Chain {
  /** Along links; columns grow. */
  readonly nodes: readonly number[];
  /** One of many short branches that stand in a block instead of one below the other. */
  readonly folded: boolean;
}

export interface Columns {
  readonly column: readonly number[];
  readonly count: number;
  readonly chains: readonly Chain[];
  /** Stages without any link: they stand by themselves, after everything else. */
  readonly isolated: readonly number[];
  /** Blocks of folded branches, first and last column: no row break inside. */
  readonly blocks: readonly { readonly first: number; readonly last: number }[];
}

/** More branches than this from one rank are folded, when none is longer than FOLD_LENGTH. */
const FOLD_FROM = 6;
const FOLD_LENGTH = 3;

export function columns(net: Net): Columns {
  const linked = net.stages.map((_, node) => net.out[node]!.length + net.into[node]!.length > 0);
  const isolated = linked.flatMap((has, node) => (has ? [] : [node]));
  const paths = sidePaths(net, linked);
  const folds = findFolds(net, paths);
  const column = net.rank.map(
    (rank) => rank + folds.reduce((sum, fold) => sum + (rank > fold.last ? fold.extra : 0), 0),
  );
  const blocks = folds.map((fold) => {
    const first = column[fold.paths[0]![0]!]!;
    fold.paths.forEach((path, index) => {
      for (const node of path) column[node] = column[node]! + (index % fold.slots) * fold.length;
    });
    return { first, last: first + fold.slots * fold.length - 1 };
  });
  const folded = new Set(folds.flatMap((fold) => fold.paths));
  const chains = paths.map((nodes) => ({ nodes, folded: folded.has(nodes) }));
  const count = column.reduce((most, value, node) => (linked[node] ? Math.max(most, value + 1) : most), 0);
  return { column, count, chains, isolated, blocks };
}

/** Greedy: from the earliest stage that has no chain yet, along the longest way. */
function sidePaths(net: Net, linked: readonly boolean[]): number[][] {
  const free = linked.slice();
  for (const node of net.trunk) free[node] = false;
  const nodes = net.rank.map((_, node) => node).filter((node) => free[node]);
  nodes.sort((a, b) => net.rank[a]! - net.rank[b]! || a - b);
  const length = times(net.rank.length, () => 0);
  for (const node of nodes.slice().reverse()) {
    for (const link of net.out[node]!) {
      if (free[link.target]) length[node] = Math.max(length[node]!, length[link.target]! + 1);
    }
  }
  const better = (a: Link, b: Link): boolean =>
    length[a.target]! > length[b.target]! ||
    (length[a.target] === length[b.target] && a.kind === "main" && b.kind !== "main");
  const paths: number[][] = [];
  for (const start of nodes) {
    if (!free[start]) continue;
    const path: number[] = [];
    let node: number | undefined = start;
    while (node !== undefined) {
      free[node] = false;
      path.push(node);
      let step: Link | undefined;
      for (const link of net.out[node]!) if (free[link.target] && (!step || better(link, step))) step = link;
      node = step?.target;
    }
    paths.push(path);
  }
  return paths;
}

interface Fold {
  readonly paths: readonly number[][];
  readonly slots: number;
  /** Columns of one slot. */
  readonly length: number;
  readonly last: number;
  /** Columns that the block adds. */
  readonly extra: number;
}

function findFolds(net: Net, paths: readonly number[][]): Fold[] {
  const rank = (node: number | undefined): number => net.rank[node!]!;
  const starts = new Map<number, number[][]>();
  for (const path of paths) {
    if (rank(path.at(-1)) - rank(path[0]) >= FOLD_LENGTH || rank(path[0]) === 0) continue;
    const first = rank(path[0]);
    held(starts, first, () => []).push(path);
  }
  const folds: Fold[] = [];
  let end = -1;
  const { width, height } = CARDS.small;
  for (const [first, together] of [...starts].sort(([a], [b]) => a - b)) {
    if (together.length <= FOLD_FROM || first <= end) continue;
    const length = Math.max(...together.map((path) => rank(path.at(-1)) - first + 1));
    const square = Math.sqrt((together.length * (height + GUTTER)) / (length * (width + GAP)));
    const slots = Math.max(2, Math.round(square));
    end = first + length - 1;
    folds.push({ paths: together, slots, length, last: end, extra: (slots - 1) * length });
  }
  return folds;
}
