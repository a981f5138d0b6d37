/** The cell of every stage: bands of columns that read left to right, each with the trunk's lane on top. */

import { times } from "../lists";
import { breakRows, NEVER, type Range } from "./breaks";
import { type Columns, columns } from "./chains";
import { branchesIn, packLanes } from "./lanes";
import { type CardMetrics, GAP, MARGIN } from "./metrics";
import type { Net } from "./net";
import { groupTree } from "./tree";
import type { LayoutGroup } from "./types";

export interface Grid {
  readonly rows: number;
  readonly columns: number;
  readonly row: readonly number[];
  readonly column: readonly number[];
  /** Stage at `row * columns + column`, or -1. */
  readonly cell: readonly number[];
  /** Of each row: its band, and the first row of that band. */
  readonly band: readonly number[];
  readonly firstRow: readonly number[];
  /** Bands of the trunk; stages without links follow in a band of their own. */
  readonly bands: number;
  readonly folded: ReadonlySet<number>;
}

const GROUP_CUT = 40;
const LINK_CUT = 1.5;
const LINK_CUT_MOST = 8;

export function makeGrid(
  net: Net,
  groups: readonly LayoutGroup[],
  card: CardMetrics,
  canvas: { readonly width: number; readonly height: number },
): Grid {
  const flat = columns(net);
  const tree = groupTree(net.stages, groups);
  const perRow = Math.max(1, Math.floor((canvas.width - 2 * MARGIN + GAP) / (card.width + GAP)));
  const ranges = breakRows({
    count: flat.count,
    cost: breakCosts(net, flat, tree.members),
    lanes: (range) => 1 + Math.max(0, ...packLanes(net, branchesIn(net, flat, range))),
    levels: tree.levels,
    extraRows: Math.ceil(flat.isolated.length / perRow),
    card,
    canvas,
  });
  return place(net, { ...flat, column: pullInputs(net, flat, ranges) }, flat.count > 0 ? ranges : [], perRow);
}

function breakCosts(net: Net, flat: Columns, members: ReadonlyMap<string, readonly number[]>): number[] {
  const crossing = times(flat.count + 1, () => 0);
  for (const { source, target } of net.links) {
    const [a, b] = [flat.column[source]!, flat.column[target]!];
    crossing[Math.min(a, b) + 1]!++;
    crossing[Math.max(a, b) + 1]!--;
  }
  for (let column = 1; column <= flat.count; column++) crossing[column]! += crossing[column - 1]!;
  const cost = crossing.map((links) => Math.min(LINK_CUT_MOST, LINK_CUT * Math.max(0, links - 1)));
  for (const nodes of members.values()) {
    const at = nodes.map((node) => flat.column[node]!);
    const [first, last] = [Math.min(...at), Math.max(...at)];
    for (let column = first + 1; column <= last; column++) cost[column]! += GROUP_CUT;
  }
  for (const { first, last } of flat.blocks)
    for (let column = first + 1; column <= last; column++) cost[column] = NEVER;
  return cost;
}

/** An extra input that is first read in a later band starts in that band, where its chain has room. */
function pullInputs(net: Net, flat: Columns, ranges: readonly Range[]): number[] {
  const column = flat.column.slice();
  const bandOf = (at: number): number => ranges.findIndex((range) => at < range.end);
  for (const { nodes } of flat.chains) {
    if (nodes.some((node) => net.into[node]!.some((link) => !nodes.includes(link.source)))) continue;
    let room = flat.count - 1 - column[nodes.at(-1)!]!;
    let read = Number.POSITIVE_INFINITY;
    for (const node of nodes) {
      for (const link of net.out[node]!) {
        if (nodes.includes(link.target)) continue;
        room = Math.min(room, flat.column[link.target]! - flat.column[node]! - 1);
        read = Math.min(read, flat.column[link.target]!);
      }
    }
    if (!Number.isFinite(read)) continue;
    const shift = ranges[bandOf(read)]!.start - column[nodes[0]!]!;
    if (shift > 0 && shift <= room) for (const node of nodes) column[node] = column[node]! + shift;
  }
  return column;
}

function place(net: Net, flat: Columns, ranges: readonly Range[], perRow: number): Grid {
  const row = times(net.stages.length, () => 0);
  const column = flat.column.slice();
  const band: number[] = [];
  const firstRow: number[] = [];
  const addRows = (count: number, index: number): void => {
    const first = band.length;
    for (let added = 0; added < count; added++) {
      band.push(index);
      firstRow.push(first);
    }
  };
  ranges.forEach((range, index) => {
    const branches = branchesIn(net, flat, range);
    const lanes = packLanes(net, branches);
    const top = band.length;
    branches.forEach((branch, at) => {
      for (const node of branch.nodes) row[node] = top + lanes[at]!;
    });
    for (const node of net.trunk)
      if (flat.column[node]! >= range.start && flat.column[node]! < range.end) row[node] = top;
    addRows(1 + Math.max(0, ...lanes), index);
  });
  const width = Math.max(Math.min(flat.isolated.length, perRow), ...ranges.map((range) => range.end - range.start));
  net.stages.forEach((_, node) => {
    const at = flat.column[node]!;
    column[node] = at - (ranges.find((range) => at < range.end)?.start ?? 0);
  });
  flat.isolated.forEach((node, index) => {
    if (index % width === 0) addRows(1, ranges.length);
    row[node] = band.length - 1;
    column[node] = index % width;
  });
  const cell = times(band.length * width, () => -1);
  net.stages.forEach((_, node) => {
    cell[row[node]! * width + column[node]!] = node;
  });
  const folded = new Set(flat.chains.flatMap((chain) => (chain.folded ? chain.nodes : [])));
  return { rows: band.length, columns: width, row, column, cell, band, firstRow, bands: ranges.length, folded };
}
