/** Where lines meet the sides of cards. */

import { held } from "../lists";
import type { Frame } from "./frame";
import { corners, isLevel, type Lines, type Scene } from "./lines";
import { ARC_STEP } from "./metrics";
import type { Route, Side } from "./routes";
import type { Point } from "./types";

const PORT_MARGIN = 12;
/** Where edges that leave a group's first card upwards pass its name. */
const BESIDE_NAME = 0.8;

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
  const note = (node: number, side: Side, { bundle }: Route, port: string, far: number): void => {
    if (!spread(side)) return;
    const { row, column } = { row: scene.grid.row[node]!, column: scene.grid.column[node]! };
    const key = isLevel(side) ? `${side} ${node}` : `${column} ${side === "top" ? row : row + 1}`;
    const place = held(places, key, () => ({ side, named: false, far: new Map(), keys: [] }));
    const before = place.far.get(bundle) ?? 0;
    place.far.set(bundle, Math.abs(far) > Math.abs(before) ? far : before);
    place.keys.push([port, bundle]);
    place.named ||= side === "top" && underName(scene, node);
  };
  for (const route of scene.routes) {
    const points = corners(scene, frame, lines, route);
    const { link, exit, entry, steps } = route;
    // A line that comes along a lane passes under everything that comes through the gutter.
    const reach = steps.length ? 1 : 1e6;
    const along = (side: Side, a: Point, b: Point): number => (isLevel(side) ? b.y - a.y : b.x - a.x) * reach;
    note(link.source, exit, route, route.exitPort, along(exit, points[0]!, points[2] ?? points[1]!));
    note(link.target, entry, route, route.entryPort, along(entry, points.at(-1)!, points.at(-3) ?? points.at(-2)!));
  }
  const ports = new Map<string, number>();
  for (const place of places.values()) {
    const offsets = offsetsOf(place, isLevel(place.side) ? scene.card.height : scene.card.width);
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
