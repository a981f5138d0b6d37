/** Lines of a U: down the left arm, up the right one, bridges at picture height, a bus from the hub. */

import type { Labelled, LabelKind } from "./labels";
import { ARC_STEP } from "./metrics";
import type { Link, Net } from "./net";
import { pack } from "./tracks";
import type { Point } from "./types";
import { CARD, type UPlaces } from "./uplace";
import type { UShape } from "./ushape";

export interface ULine extends Labelled {
  readonly link: Link;
}

/** Least stretch of two cards over each other for an upright line, and how far a line stays from a corner. */
const OVERLAP = 24;
const FROM_CORNER = 12;
const ELBOW = 32;
const BUS = 15;
const BESIDE = 29;

const PORT = CARD.port;

/** Lines that run level in the gap over a row. */
export interface Over {
  /** Bridges that would lie over cards, as arcs: track from 0, upwards. */
  readonly track: ReadonlyMap<Link, number>;
  readonly arcs: readonly number[];
  /** The arcs of each row, and the turn of a main edge over them. */
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
  const long = (nodes: readonly number[] | undefined): boolean =>
    (nodes ?? []).filter((node) => !shape.ends.has(node)).length > 1;
  const perRow = [...arcs, 0].map(
    (count, row) => count + (long(shape.left[row - 1]) || long(shape.right[row - 1]) ? 1 : 0),
  );
  return { track, arcs, perRow };
}

export function linesOfU(net: Net, shape: UShape, places: UPlaces, over: Over): ULine[] {
  const drawn = new Map<Link, { points: Point[]; label: LabelKind | null }>();
  const at = (node: number): Point => places.at.get(node)!;
  for (const link of [...shape.along, ...shape.toHub]) {
    const lower = Math.max(places.row.get(link.source)!, places.row.get(link.target)!);
    const turn = places.tops[lower]! - ARC_STEP * ((over.arcs[lower] ?? 0) + 1);
    drawn.set(link, { points: along(at(link.source), at(link.target), turn), label: null });
  }
  const ports = arcPorts(shape, places, over.track);
  for (const link of shape.across) {
    const track = over.track.get(link);
    const [a, b] = [at(link.source), at(link.target)];
    if (track === undefined) {
      const y = a.y + PORT;
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
  if (shape.side.length > 0)
    for (const link of shape.fromHub) drawn.set(link, { points: fromHub(shape, places, link), label: null });
  return net.links.flatMap((link) => {
    const line = drawn.get(link);
    return line ? [{ link, ...line }] : [];
  });
}

/** In a row from side to side; between rows upright where the cards overlap, round an elbow, or back in the gap. */
function along(a: Point, b: Point, turn: number): Point[] {
  if (a.y === b.y)
    return [
      { x: a.x + CARD.width, y: a.y + PORT },
      { x: b.x, y: b.y + PORT },
    ];
  const down = b.y > a.y;
  const [lo, hi] = [Math.max(a.x, b.x), Math.min(a.x, b.x) + CARD.width];
  const [from, to] = down ? [a.y + CARD.height, b.y] : [a.y, b.y + CARD.height];
  if (hi - lo >= OVERLAP)
    return [
      { x: (lo + hi) / 2, y: from },
      { x: (lo + hi) / 2, y: to },
    ];
  if (b.x < a.x) {
    // Beside the middle, where an arc may stand.
    const [start, end] = down
      ? [a.x + CARD.width / 2, b.x + BESIDE]
      : [a.x + CARD.width - BESIDE, b.x + CARD.width / 2];
    return [
      { x: start, y: from },
      { x: start, y: turn },
      { x: end, y: turn },
      { x: end, y: to },
    ];
  }
  if (down) {
    const x = Math.min(a.x + CARD.width - FROM_CORNER, b.x - ELBOW);
    return [
      { x, y: from },
      { x, y: b.y + PORT },
      { x: b.x, y: b.y + PORT },
    ];
  }
  const x = Math.max(b.x + FROM_CORNER, a.x + CARD.width + ELBOW);
  return [
    { x: a.x + CARD.width, y: a.y + PORT },
    { x, y: a.y + PORT },
    { x, y: to },
  ];
}

/** Where arcs leave and enter: side by side on the top of a card, what comes in left of what goes out. */
function arcPorts(shape: UShape, places: UPlaces, arcs: ReadonlyMap<Link, number>): Map<Link, [number, number]> {
  const links = shape.across.filter((link) => arcs.has(link));
  const ends = new Map<number, { link: Link; end: 0 | 1; key: number }[]>();
  links.forEach((link) => {
    const length = places.at.get(link.target)!.x - places.at.get(link.source)!.x;
    for (const [end, node] of [
      [0, link.source],
      [1, link.target],
    ] as const) {
      const list = ends.get(node) ?? [];
      list.push({ link, end, key: end === 1 ? length - 1e6 : -length });
      ends.set(node, list);
    }
  });
  const ports = new Map<Link, [number, number]>(links.map((link) => [link, [0, 0]]));
  for (const [node, list] of ends) {
    list.sort((a, b) => a.key - b.key);
    list.forEach(({ link, end }, index) => {
      ports.get(link)![end] = places.at.get(node)!.x + CARD.width / 2 + (index - (list.length - 1) / 2) * ARC_STEP;
    });
  }
  return ports;
}

/** Up outside an arm and in from the outer side; what stands further in is reached from below. */
function fromHub(shape: UShape, places: UPlaces, { target, kind }: Link): Point[] {
  const to = places.at.get(target)!;
  const row = places.row.get(target)!;
  const depth = shape.left.length;
  const onLeft = shape.left[row]?.includes(target) ?? false;
  const below = { x: to.x + CARD.width / 2, y: to.y + CARD.height };
  const under = places.tops[depth]! + CARD.height + ARC_STEP;
  if (row === depth) return [...hubStart(shape, places, null, under), { x: below.x, y: under }, below];
  const second = places.at.get((onLeft ? shape.left[1]![0] : shape.right[1]!.at(-1))!)!;
  const away = BUS + (kind === "main" ? ARC_STEP : 0);
  const bus = onLeft ? second.x - away : second.x + CARD.width + away;
  const start = hubStart(shape, places, onLeft ? bus : null, under);
  const up = [...start, { x: bus, y: start.at(-1)!.y }];
  const outermost = onLeft ? shape.left[row]![0] : shape.right[row]!.at(-1);
  if (row > 0 && target === outermost) {
    return [...up, { x: bus, y: to.y + PORT }, { x: onLeft ? to.x : to.x + CARD.width, y: to.y + PORT }];
  }
  if (onCard(to, bus)) return [...up, { x: bus, y: below.y }];
  const gutter = below.y + ARC_STEP;
  return [...up, { x: bus, y: gutter }, { x: below.x, y: gutter }, below];
}

const onCard = (card: Point, x: number): boolean => x > card.x + FROM_CORNER && x < card.x + CARD.width - FROM_CORNER;

/** Out of the hub: upwards where the bus of the left arm stands over it, else into the gap under the bottom's row. */
function hubStart(shape: UShape, places: UPlaces, bus: number | null, under: number): Point[] {
  const hub = places.at.get(shape.side.at(-1)!)!;
  const x = hub.x + CARD.width / 2;
  if (!places.sideInBottomRow)
    return [
      { x, y: hub.y },
      { x, y: under },
    ];
  if (bus === null)
    return [
      { x, y: hub.y + CARD.height },
      { x, y: under },
    ];
  return onCard(hub, bus)
    ? [{ x: bus, y: hub.y }]
    : [
        { x, y: hub.y },
        { x, y: hub.y - ARC_STEP },
      ];
}
