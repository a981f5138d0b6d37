/** Routes -> lines: ports beside each other, tracks in every channel, corner points. */

import { type Channel, type Frame, keyOf } from "./frame";
import type { Grid } from "./grid";
import { ARC_STEP, type CardMetrics } from "./metrics";
import type { Piece } from "./pieces";
import type { Route, Side } from "./routes";
import { arrange, pack, type Segment } from "./tracks";
import type { Point } from "./types";

/** Tracks by channel and bundle, and offsets of ports from the middle of their side. */
export interface Lines {
  readonly tracks: ReadonlyMap<string, number>;
  readonly ports: ReadonlyMap<string, number>;
  readonly channels: ReadonlyMap<string, Channel>;
}

export const NO_LINES: Lines = { tracks: new Map(), ports: new Map(), channels: new Map() };

export interface Scene {
  readonly grid: Grid;
  readonly card: CardMetrics;
  readonly pieces: readonly Piece[];
  readonly routes: readonly Route[];
}

const PORT_MARGIN = 12;
/** Where edges that leave a group's first card upwards pass its name. */
const BESIDE_NAME = 0.8;

const portKey = (node: number, side: Side, bundle: string): string => `${node} ${side} ${bundle}`;
const level = (side: Side): boolean => side === "left" || side === "right";

function port(scene: Scene, frame: Frame, node: number, side: Side, offset: number): Point {
  const { card, grid } = scene;
  const [x, y] = [frame.x[grid.column[node]!]!, frame.y[grid.row[node]!]!];
  if (side === "left") return { x, y: y + card.port + offset };
  if (side === "right") return { x: x + card.width, y: y + card.port + offset };
  return { x: x + card.width / 2 + offset, y: side === "top" ? y : y + card.height };
}

/** From port to port, a point per corner. `points[i + 1]` to `points[i + 2]` lies in the channel of step i. */
export function corners(scene: Scene, frame: Frame, lines: Lines, route: Route): Point[] {
  const { link, exit, entry, steps, bundle } = route;
  const from = port(scene, frame, link.source, exit, lines.ports.get(portKey(link.source, exit, bundle)) ?? 0);
  const to = port(scene, frame, link.target, entry, lines.ports.get(portKey(link.target, entry, bundle)) ?? 0);
  const points = [from];
  let { x, y } = from;
  for (const step of steps) {
    const at = frame.at(step, lines.tracks.get(`${keyOf(step)} ${bundle}`) ?? 0);
    if (step.axis === "v") x = at;
    else y = at;
    points.push({ x, y });
  }
  const lastLevel = steps.length === 0 ? level(exit) : steps.at(-1)!.axis === "h";
  if (steps.length > 0 || level(exit) !== level(entry)) points.push(lastLevel ? { x: to.x, y } : { x, y: to.y });
  points.push(to);
  return points;
}

/**
 * Ports side by side, those to the nearer ends outermost, so that no line has to cross its neighbour.
 * A gutter's two rows share the places of a column: a line that leaves upwards must not hide one that comes down.
 */
export function spreadPorts(
  scene: Scene,
  frame: Frame,
  lines: Lines,
  spread: (side: Side) => boolean,
): Map<string, number> {
  const places = new Map<string, Place>();
  const note = (node: number, side: Side, bundle: string, far: number): void => {
    if (!spread(side)) return;
    const { row, column } = { row: scene.grid.row[node]!, column: scene.grid.column[node]! };
    const key = level(side) ? `${side} ${node}` : `${column} ${side === "top" ? row : row + 1}`;
    const place = places.get(key) ?? { side, named: false, far: new Map<string, number>(), keys: [] };
    const before = place.far.get(bundle) ?? 0;
    place.far.set(bundle, Math.abs(far) > Math.abs(before) ? far : before);
    place.keys.push([portKey(node, side, bundle), bundle]);
    place.named ||= side === "top" && underName(scene, node);
    places.set(key, place);
  };
  for (const route of scene.routes) {
    const points = corners(scene, frame, lines, route);
    const { link, exit, entry, bundle, steps } = route;
    // A line that comes along a lane passes under everything that comes through the gutter.
    const reach = steps.length === 0 ? 1e6 : 1;
    const along = (side: Side, a: Point, b: Point): number => (level(side) ? b.y - a.y : b.x - a.x) * reach;
    note(link.source, exit, bundle, along(exit, points[0]!, points[2] ?? points[1]!));
    note(link.target, entry, bundle, along(entry, points.at(-1)!, points.at(-3) ?? points.at(-2)!));
  }
  const ports = new Map<string, number>();
  for (const place of places.values()) {
    const offsets = offsetsOf(place, level(place.side) ? scene.card.height : scene.card.width);
    for (const [key, bundle] of place.keys) ports.set(key, offsets.get(bundle)!);
  }
  return ports;
}

interface Place {
  readonly side: Side;
  /** The name of a group stands over it. */
  named: boolean;
  /** By bundle, how far away the other end of the line is, signed. */
  readonly far: Map<string, number>;
  readonly keys: (readonly [string, string])[];
}

function offsetsOf({ far, named }: Place, size: number): Map<string, number> {
  const order = [...far].sort(([, a], [, b]) => rankOf(a) - rankOf(b) || b - a);
  const step = Math.min(ARC_STEP, (size - 2 * PORT_MARGIN) / Math.max(1, order.length - 1));
  const width = step * (order.length - 1);
  const middle = named ? Math.max(0, size * (BESIDE_NAME - 0.5) - width / 2) : 0;
  return new Map(order.map(([bundle], index) => [bundle, middle - width / 2 + index * step]));
}

const rankOf = (far: number): number => Math.sign(Math.round(far));

function underName({ grid, pieces }: Scene, node: number): boolean {
  return pieces.some((piece) => piece.top === grid.row[node] && piece.left === grid.column[node]);
}

/** Orders the lines of every channel. Coordinates come from `frame`, the present guess. */
export function assignTracks(scene: Scene, frame: Frame, lines: Lines): Lines {
  const found = new Map<
    string,
    { bundles: Map<string, Segment>; extents: Map<string, Segment>; drops: boolean; fromStart: boolean }
  >();
  for (const route of scene.routes) {
    const points = corners(scene, frame, lines, route);
    route.steps.forEach((step, index) => {
      const key = keyOf(step);
      const fromStart = step.axis === "v" ? step.index > 0 : step.index === scene.grid.rows;
      const channel = found.get(key) ?? { bundles: new Map(), extents: new Map(), drops: false, fromStart };
      const segment = segmentAt(points, index + 1, step.axis);
      merge(channel.bundles, route.bundle, segment);
      merge(channel.extents, route.bundle, widened(frame, route, index, segment));
      channel.drops ||= step.axis === "h" && segment.ends.some((end, at) => end.side === 1 && isPort(route, index, at));
      found.set(key, channel);
    });
  }
  const tracks = new Map<string, number>();
  const channels = new Map<string, Channel>();
  for (const [key, { bundles, extents, drops, fromStart }] of found) {
    const names = [...bundles.keys()];
    const order = arrange([...bundles.values()]);
    const packed = pack([...extents.values()], fromStart ? order : order.reverse());
    names.forEach((name, index) => {
      tracks.set(`${key} ${name}`, packed[index]!);
    });
    channels.set(key, { tracks: 1 + Math.max(...packed), drops });
  }
  return { tracks, ports: lines.ports, channels };
}

function merge(map: Map<string, Segment>, bundle: string, segment: Segment): void {
  const known = map.get(bundle);
  if (!known) map.set(bundle, segment);
  else
    map.set(bundle, {
      lo: Math.min(known.lo, segment.lo),
      hi: Math.max(known.hi, segment.hi),
      ends: [...known.ends, ...segment.ends],
    });
}

function segmentAt(points: readonly Point[], index: number, axis: "v" | "h"): Segment {
  const [before, a, b, after] = [points[index - 1]!, points[index]!, points[index + 1]!, points[index + 2]!];
  const [from, to] = axis === "v" ? [a.y, b.y] : [a.x, b.x];
  const side = (here: Point, there: Point): -1 | 1 =>
    (axis === "v" ? there.x - here.x : there.y - here.y) < 0 ? -1 : 1;
  const ends = [
    { at: from, side: side(a, before) },
    { at: to, side: side(b, after) },
  ];
  return { lo: Math.min(from, to), hi: Math.max(from, to), ends };
}

/** First end of the first step, second end of the last one: there the line meets a card. */
const isPort = (route: Route, index: number, end: number): boolean =>
  index === (end === 0 ? 0 : route.steps.length - 1);

/** The stretch that the line may take wherever the channels at its ends put it. */
function widened(frame: Frame, route: Route, index: number, segment: Segment): Segment {
  let { lo, hi } = segment;
  for (const neighbour of [route.steps[index - 1], route.steps[index + 1]]) {
    if (!neighbour) continue;
    const extent = frame.extent(neighbour);
    lo = Math.min(lo, extent.lo);
    hi = Math.max(hi, extent.hi);
  }
  return { lo, hi, ends: segment.ends };
}
