/** Lines of a U: down the left arm, up the right one, bridges at picture height, a bus from the hub. */

import { held } from "../lists";
import type { LabelKind, Labelled } from "./labels";
import { ARC_STEP } from "./metrics";
import type { Link, Net } from "./net";
import { pack } from "./tracks";
import type { Point } from "./types";
import { along } from "./ualong";
import { fromHub, hubGutters } from "./uhub";
import { CARD, type UPlaces } from "./uplace";
import type { UShape } from "./ushape";

export interface ULine extends Labelled {
  readonly link: Link;
}

/** Lines that run level in the gap over a row. */
export interface Over {
  /** Bridges that would lie over cards, as arcs: track from 0, upwards. */
  readonly track: ReadonlyMap<Link, number>;
  readonly arcs: readonly number[];
  /** The arcs of each row, over them the turn of a main edge, and over that a line from the hub to the row above. */
  readonly perRow: readonly number[];
}

export function linesOver(shape: UShape): Over {
  const track = new Map<Link, number>();
  const arcs = shape.left.map((nodes, level) => {
    const place = new Map([...nodes, ...shape.right[level]!].map((node, index) => [node, index]));
    const links = shape.across.filter(({ source, target }) => {
      const [from, to] = [place.get(source), place.get(target)];
      return from !== undefined && to !== undefined && to > from + 1;
    });
    const extents = links.map(({ source, target }) => ({ lo: place.get(source)! + 0.1, hi: place.get(target)! - 0.1 }));
    const order = links.map((_, index) => index);
    order.sort((a, b) => extents[a]!.hi - extents[a]!.lo - (extents[b]!.hi - extents[b]!.lo) || a - b);
    const tracks = pack(extents, order);
    links.forEach((link, index) => {
      track.set(link, tracks[index]!);
    });
    return 1 + Math.max(-1, ...tracks);
  });
  const gutters = hubGutters(shape);
  const long = (nodes: readonly number[] | undefined): boolean =>
    (nodes ?? []).filter((node) => !shape.ends.has(node)).length > 1;
  const turns = [...arcs, 0].map((_, row) => (long(shape.left[row - 1]) || long(shape.right[row - 1]) ? 1 : 0));
  const perRow = turns.map((turn, row) => (arcs[row] ?? 0) + turn + (gutters.has(row - 1) ? 1 : 0));
  return { track, arcs, perRow };
}

/** Null where a line would have to run through a card. */
export function linesOfU(net: Net, shape: UShape, places: UPlaces, over: Over): ULine[] | null {
  const drawn = new Map<Link, { points: Point[]; label: LabelKind | null }>();
  const at = (node: number): Point => places.at[node]!;
  for (const link of [...shape.along, ...shape.toHub]) {
    const lower = Math.max(places.row[link.source]!, places.row[link.target]!);
    const turn = places.tops[lower]! - ARC_STEP * ((over.arcs[lower] ?? 0) + 1);
    drawn.set(link, { points: along(at(link.source), at(link.target), turn), label: null });
  }
  const ports = arcPorts(shape, places, over.track);
  for (const link of shape.across) {
    const track = over.track.get(link);
    const [a, b] = [at(link.source), at(link.target)];
    if (track === undefined) {
      const y = a.y + CARD.port;
      drawn.set(link, {
        points: [
          { x: a.x + CARD.width, y },
          { x: b.x, y },
        ],
        label: link.kind === "main" ? null : "end",
      });
    } else {
      const y = a.y - ARC_STEP * (track + 1);
      const [from, to] = ports.get(link)!;
      drawn.set(link, {
        points: [
          { x: from, y: a.y },
          { x: from, y },
          { x: to, y },
          { x: to, y: b.y },
        ],
        label: "on",
      });
    }
  }
  for (const link of shape.fromHub) {
    const points = fromHub(shape, places, over.perRow, link);
    if (!points) return null;
    drawn.set(link, { points, label: null });
  }
  return net.links.flatMap((link) => {
    const line = drawn.get(link);
    return line ? [{ link, ...line }] : [];
  });
}

/** Where arcs leave and enter: side by side on the top of a card, what comes in left of what goes out. */
function arcPorts(shape: UShape, places: UPlaces, arcs: ReadonlyMap<Link, number>): Map<Link, [number, number]> {
  const links = shape.across.filter((link) => arcs.has(link));
  const ends = new Map<number, { link: Link; end: 0 | 1; key: number }[]>();
  links.forEach((link) => {
    const length = places.at[link.target]!.x - places.at[link.source]!.x;
    for (const [end, node] of [
      [0, link.source],
      [1, link.target],
    ] as const) {
      held(ends, node, () => []).push({ link, end, key: end === 1 ? length - 1e6 : -length });
    }
  });
  const ports = new Map<Link, [number, number]>(links.map((link) => [link, [0, 0]]));
  for (const [node, list] of ends) {
    list.sort((a, b) => a.key - b.key);
    list.forEach(({ link, end }, index) => {
      ports.get(link)![end] = places.at[node]!.x + CARD.width / 2 + (index - (list.length - 1) / 2) * ARC_STEP;
    });
  }
  return ports;
}
