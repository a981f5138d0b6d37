/** Does a graph have the shape of a U? Levels of resolution, two arms, bridges between them. */

import type { Link, Net } from "./net";
import type { LayoutStage } from "./types";

export interface UShape {
  /** Stages of the left arm and of the right arm per level, from the outside: left and right of level 0 come first and last. */
  readonly left: readonly (readonly number[])[];
  readonly right: readonly (readonly number[])[];
  /** Below the innermost bridge. */
  readonly bottom: readonly number[];
  /** Leads to `hub`, a stage that many of the U read (a time embedding, a condition), itself included. */
  readonly side: readonly number[];
  /** Links along the U, bridges and arcs, links out of the hub, links along the side. */
  readonly along: readonly Link[];
  readonly across: readonly Link[];
  readonly fromHub: readonly Link[];
  readonly toHub: readonly Link[];
  readonly isolated: readonly number[];
  /** Inputs and outputs: they stand outside level 0. */
  readonly ends: ReadonlySet<number>;
}

/** Resolutions closer than this factor (of areas) are one level: unpadded convolutions shave borders off. */
const SAME_AREA = 1.6;
const LEAST_BRIDGES = 2;
const SIDE_MOST = 2;

type Area = (stage: LayoutStage) => number | null;

/** Elements per channel, with the channel axis second, or last. Null without spatial axes. */
const AREAS: readonly Area[] = [1, -1].map((channels) => (stage) => {
  const shape = stage.leaves[0]?.shape ?? [];
  const spatial = channels === 1 ? shape.slice(2) : shape.slice(1, -1);
  return spatial.length ? spatial.reduce((product, size) => product * size, 1) : null;
});

export function findU(net: Net): UShape | null {
  for (const area of AREAS) {
    const found = findWith(net, area);
    if (found) return found;
  }
  return null;
}

/** By stage, its place on the path; undefined beside it. */
type Places = readonly (number | undefined)[];

function placesIn(path: readonly number[]): Places {
  const places: (number | undefined)[] = [];
  for (const [index, node] of path.entries()) places[node] = index;
  return places;
}

function findWith(net: Net, areaOf: Area): UShape | null {
  const area = net.stages.map(areaOf);
  const path = spatialPath(net, area);
  const at = placesIn(path);
  const split = splitLinks(net, at);
  if (!split) return null;
  const bridges = split.across.filter(({ source, target }) => {
    const [from, to] = [at[source]!, at[target]!];
    const narrow = Math.min(...path.slice(from + 1, to).map((node) => area[node]!));
    return same(area[source]!, area[target]!) && narrow * SAME_AREA < area[source]!;
  });
  if (bridges.length < LEAST_BRIDGES || !nested(bridges, at)) return null;
  const inner = bridges.reduce((a, b) => (at[b.source]! > at[a.source]! ? b : a));
  const levels = armLevels(net, path, area, at[inner.source]!, at[inner.target]!);
  if (!levels) return null;
  const { level, left, right } = levels;
  const spanned = new Set(bridges.map(({ source }) => level[source]));
  if (spanned.size < LEAST_BRIDGES) return null;
  // Everything else that crosses has to stay in its row.
  if (split.across.some(({ source, target }) => level[source] === undefined || level[source] !== level[target]))
    return null;
  const bottom = path.slice(at[inner.source]! + 1, at[inner.target]!);
  const isolated = net.stages.flatMap((_, node) =>
    net.out[node]!.length + net.into[node]!.length === 0 ? [node] : [],
  );
  const ends = new Set(path.filter((node) => ["input", "output"].includes(net.stages[node]!.kind)));
  return { left, right, bottom, isolated, ends, ...split };
}

const same = (a: number, b: number): boolean => a < b * SAME_AREA && b < a * SAME_AREA;

/** The deepest path among the stages that have a resolution. */
function spatialPath(net: Net, area: readonly (number | null)[]): number[] {
  const nodes = net.rank.map((_, node) => node).filter((node) => area[node] !== null);
  nodes.sort((a, b) => net.rank[a]! - net.rank[b]! || a - b);
  const depth = new Map<number, { length: number; before: number | null }>();
  let last: number | null = null;
  for (const node of nodes) {
    let best = { length: 0, before: null as number | null };
    for (const { source } of net.into[node]!) {
      const length = (depth.get(source)?.length ?? -1) + 1;
      if (length > best.length) best = { length, before: source };
    }
    depth.set(node, best);
    if (last === null || best.length > depth.get(last)!.length) last = node;
  }
  const path: number[] = [];
  for (let node = last; node !== null; node = depth.get(node)!.before) path.push(node);
  return path.reverse();
}

type Split = Pick<UShape, "side" | "along" | "across" | "fromHub" | "toHub">;

/** Null when a stage or link fits in nowhere. */
function splitLinks(net: Net, at: Places): Split | null {
  const side = net.stages.flatMap((_, node) =>
    at[node] !== undefined || net.out[node]!.length + net.into[node]!.length === 0 ? [] : [node],
  );
  if (side.length > SIDE_MOST) return null;
  const hub = side.at(-1);
  const split = { side, along: [] as Link[], across: [] as Link[], fromHub: [] as Link[], toHub: [] as Link[] };
  for (const link of net.links) {
    const [from, to] = [at[link.source], at[link.target]];
    if (from !== undefined && to !== undefined) {
      if (to === from + 1) split.along.push(link);
      else if (to > from && link.kind === "skip") split.across.push(link);
      else return null;
    } else if (to !== undefined && link.source === hub) split.fromHub.push(link);
    else if (link.target === hub && link.source === side[0]) split.toHub.push(link);
    else return null;
  }
  return side.length && (!split.fromHub.length || split.toHub.length !== side.length - 1) ? null : split;
}

/** Like brackets: of any two, one lies inside the other. */
function nested(bridges: readonly Link[], at: Places): boolean {
  const order = bridges.map(({ source, target }) => [at[source]!, at[target]!] as const).sort((a, b) => a[0] - b[0]);
  return order.every(([from, to], index) => {
    const inner = order[index + 1];
    return !inner || (inner[0] > from && inner[1] < to);
  });
}

interface Levels {
  /** By stage; undefined below the innermost bridge, and beside the path. */
  readonly level: readonly (number | undefined)[];
  readonly left: number[][];
  readonly right: number[][];
}

/** Null unless resolution only falls on the left arm and only rises on the right one. */
function armLevels(
  net: Net,
  path: readonly number[],
  area: readonly (number | null)[],
  source: number,
  target: number,
): Levels | null {
  const areas: number[] = [];
  const level: (number | undefined)[] = [];
  for (const node of path.slice(0, source + 1)) {
    const here = area[node]!;
    const before = areas.at(-1);
    const call = net.stages[node]!.kind === "call";
    if (call && before !== undefined && here > before * SAME_AREA) return null;
    if (call && (before === undefined || here * SAME_AREA < before)) areas.push(here);
    level[node] = Math.max(0, areas.length - 1);
  }
  let lowest = areas.length - 1;
  for (const node of path.slice(target)) {
    if (net.stages[node]!.kind !== "output") {
      const near = nearest(areas, area[node]!);
      if (near > lowest) return null;
      lowest = near;
    } else lowest = Math.min(lowest, 0);
    level[node] = lowest;
  }
  const rows = (nodes: readonly number[]): number[][] =>
    areas.map((_, index) => nodes.filter((node) => level[node] === index));
  return { level, left: rows(path.slice(0, source + 1)), right: rows(path.slice(target)) };
}

function nearest(areas: readonly number[], area: number): number {
  const off = (index: number): number => Math.abs(Math.log(areas[index]! / area));
  return areas.reduce((best, _, index) => (off(index) < off(best) ? index : best), 0);
}
