/** Routes -> corner points, given the places of ports and of lines in their channels. */

import type { Channel, Frame } from "./frame";
import type { Grid } from "./grid";
import type { CardMetrics } from "./metrics";
import type { Piece } from "./pieces";
import type { Route, Side } from "./routes";
import type { Point } from "./types";

/** Tracks by a route's `places`, offsets of its ports from the middle of their sides, and what each channel holds. */
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

export const isLevel = (side: Side): boolean => side === "left" || side === "right";

function port(scene: Scene, frame: Frame, node: number, side: Side, offset: number): Point {
  const { card, grid } = scene;
  const [x, y] = [frame.x[grid.column[node]!]!, frame.y[grid.row[node]!]!];
  if (side === "left") return { x, y: y + card.port + offset };
  if (side === "right") return { x: x + card.width, y: y + card.port + offset };
  return { x: x + card.width / 2 + offset, y: side === "top" ? y : y + card.height };
}

/** From port to port, a point per corner. `points[i + 1]` to `points[i + 2]` lies in the channel of step i. */
export function corners(scene: Scene, frame: Frame, lines: Lines, route: Route): Point[] {
  const { link, exit, entry, steps, places } = route;
  const from = port(scene, frame, link.source, exit, lines.ports.get(route.exitPort) ?? 0);
  const to = port(scene, frame, link.target, entry, lines.ports.get(route.entryPort) ?? 0);
  const points = [from];
  let { x, y } = from;
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index]!;
    const at = frame.at(step, lines.tracks.get(places[index]!) ?? 0);
    if (step.axis === "v") x = at;
    else y = at;
    points.push({ x, y });
  }
  const lastLevel = steps.length ? steps.at(-1)!.axis === "h" : isLevel(exit);
  if (steps.length || isLevel(exit) !== isLevel(entry)) points.push(lastLevel ? { x: to.x, y } : { x, y: to.y });
  points.push(to);
  return points;
}
