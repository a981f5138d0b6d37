/** Edges that share ports and lines: a fork from one stage, or a join into one. */

import type { Link, Net } from "./net";

export interface Bundle {
  /** Edges of one bundle share ports and lines. */
  readonly bundle: string;
  /** The bundle ends, rather than starts, in one stage. */
  readonly joins: boolean;
  /** There are others in the bundle. */
  readonly shared: boolean;
}

/** This many edges of a kind at one stage are drawn as one line that forks (joins). */
const FORK_FROM = { main: 2, merge: 3, skip: 3 } as const;
const JOIN_FROM = { main: 2, merge: 2, skip: 3 } as const;

/** Whole kinds fork, or join: mixed bundles would cross each other. What has fewer ends bundles more. */
export function bundles(net: Net): (link: Link) => Bundle {
  const counts = new Map<string, number>();
  const sourceKey = (link: Link): string => `${link.kind} from ${link.source}`;
  const targetKey = (link: Link): string => `${link.kind} into ${link.target}`;
  for (const link of net.links) {
    for (const key of [sourceKey(link), targetKey(link)]) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const ends = (kind: Link["kind"], end: "source" | "target"): number =>
    new Set(net.links.flatMap((link) => (link.kind === kind ? [link[end]] : []))).size;
  const forks = {
    main: true,
    merge: ends("merge", "source") < ends("merge", "target"),
    skip: ends("skip", "source") < ends("skip", "target"),
  };
  return (link) => {
    const joins = !forks[link.kind];
    const bundle = joins ? targetKey(link) : sourceKey(link);
    const shared = counts.get(bundle)! >= (joins ? JOIN_FROM : FORK_FROM)[link.kind];
    return { bundle: shared ? bundle : link.id, joins: shared && joins, shared };
  };
}
