/** Branches of a band in lanes below the trunk's. */

import { times } from "../lists";
import type { Range } from "./breaks";
import type { Chain, Columns } from "./chains";
import type { Net } from "./net";

export interface Branch {
  readonly nodes: readonly number[];
  readonly first: number;
  readonly last: number;
}

/** The part of a chain in a band, with the cells that its way in and its way out need. */
function branchIn(net: Net, column: readonly number[], chain: Chain, range: Range): Branch | null {
  const inside = (at: number): boolean => at >= range.start && at < range.end;
  const nodes = chain.nodes.filter((node) => inside(column[node]!));
  if (!nodes.length) return null;
  let first = column[nodes[0]!]!;
  let last = column[nodes.at(-1)!]!;
  if (chain.folded) return { nodes, first, last };
  for (const link of net.into[nodes[0]!]!) {
    const from = column[link.source]!;
    if (link.kind === "main" && inside(from)) first = Math.min(first, from + 1);
  }
  if (nodes.at(-1) === chain.nodes.at(-1)) {
    for (const link of net.out[nodes.at(-1)!]!)
      if (inside(column[link.target]!)) last = Math.max(last, column[link.target]!);
  }
  return { nodes, first, last };
}

export function branchesIn(net: Net, flat: Columns, range: Range): Branch[] {
  return flat.chains.flatMap((chain) => branchIn(net, flat.column, chain, range) ?? []);
}

/**
 * Lane of each branch, from 1. What hangs on the trunk comes first, then what hangs on that, and so on; short before long,
 * so that what forks and joins inside a longer branch crosses nothing. Each lies as near as can be to what it hangs on.
 */
export function packLanes(net: Net, branches: readonly Branch[]): number[] {
  if (!branches.length) return [];
  const { depth, parent } = hang(net, branches);
  const span = (index: number): number => branches[index]!.last - branches[index]!.first;
  const order = branches.map((_, index) => index);
  order.sort((a, b) => depth[a]! - depth[b]! || span(a) - span(b) || branches[a]!.nodes[0]! - branches[b]!.nodes[0]!);
  const taken: Branch[][] = [];
  const lane = times(branches.length, () => 0);
  for (const index of order) {
    const branch = branches[index]!;
    const home = parent[index] === undefined ? 0 : lane[parent[index]!]!;
    let best = taken.length + 1;
    for (let at = 1; at <= taken.length; at++) {
      const nearer = Math.abs(at - home) < Math.abs(best - home) || (best > taken.length && at - home === home - best);
      if (nearer && !taken[at - 1]!.some((other) => other.first <= branch.last && branch.first <= other.last))
        best = at;
    }
    lane[index] = best;
    if (best > taken.length) taken.push([]);
    taken[best - 1]!.push(branch);
  }
  return lane;
}

/** How many links away from the trunk, and over which branch; branches that do not hang on it count from their longest. */
function hang(net: Net, branches: readonly Branch[]): { depth: number[]; parent: (number | undefined)[] } {
  const owner = new Map(branches.flatMap(({ nodes }, index) => nodes.map((node) => [node, index] as const)));
  const trunk = new Set(net.trunk);
  const beside = branches.map(() => new Set<number>());
  const onTrunk = branches.map(() => false);
  branches.forEach(({ nodes }, branch) => {
    for (const node of nodes) {
      for (const { source, target } of [...net.into[node]!, ...net.out[node]!]) {
        const other = source === node ? target : source;
        const owned = owner.get(other);
        if (owned !== undefined && owned !== branch) beside[branch]!.add(owned);
        else if (trunk.has(other)) onTrunk[branch] = true;
      }
    }
  });
  const depth = times(branches.length, () => -1);
  const parent = times(branches.length, (): number | undefined => undefined);
  const spread = (roots: readonly number[]): void => {
    const queue = roots.slice();
    for (const root of roots) depth[root] = 0;
    for (let next = 0; next < queue.length; next++) {
      const branch = queue[next]!;
      for (const other of beside[branch]!) {
        if (depth[other] !== -1) continue;
        depth[other] = depth[branch]! + 1;
        parent[other] = branch;
        queue.push(other);
      }
    }
  };
  spread(onTrunk.flatMap((is, index) => (is ? [index] : [])));
  const longest = branches
    .map((_, index) => index)
    .sort((a, b) => branches[b]!.nodes.length - branches[a]!.nodes.length || a - b);
  for (const index of longest) if (depth[index] === -1) spread([index]);
  return { depth, parent };
}
