/** Lines side by side in every channel. */

import { held } from "../lists";
import type { Channel, Frame } from "./frame";
import { corners, type Lines, type Scene } from "./lines";
import { arrange, type End, pack } from "./tracks";
import type { Point } from "./types";

/** A bundle's line in a channel, grown edge by edge: where it runs and ends, and the stretch to keep clear for it. */
interface Line {
  lo: number;
  hi: number;
  readonly ends: End[];
  readonly extent: { lo: number; hi: number };
}

interface Gathered {
  readonly bundles: Map<string, Line>;
  readonly fromStart: boolean;
  drops: boolean;
}

/** Orders the lines of every channel. Coordinates come from `frame`, the present guess. */
export function assignTracks(scene: Scene, frame: Frame, lines: Lines): Lines {
  const tracks = new Map<string, number>();
  const channels = new Map<string, Channel>();
  for (const [key, { bundles, drops, fromStart }] of gather(scene, frame, lines)) {
    const all = [...bundles.values()];
    const order = arrange(all);
    const packed = pack(
      all.map(({ extent }) => extent),
      fromStart ? order : order.reverse(),
    );
    [...bundles.keys()].forEach((name, index) => {
      tracks.set(`${key} ${name}`, packed[index]!);
    });
    channels.set(key, { tracks: 1 + Math.max(...packed), drops });
  }
  return { tracks, ports: lines.ports, channels };
}

function gather(scene: Scene, frame: Frame, lines: Lines): Map<string, Gathered> {
  const found = new Map<string, Gathered>();
  for (const route of scene.routes) {
    if (!route.steps.length) continue;
    const points = corners(scene, frame, lines, route);
    route.steps.forEach((step, index) => {
      const key = route.channels[index]!;
      // Packed towards the cards: in the outermost channels that is the inner side.
      const fromStart = step.axis === "v" ? step.index > 0 : step.index === scene.grid.rows;
      const channel = held(found, key, () => ({ bundles: new Map(), drops: false, fromStart }));
      const [from, to] = endsOf(points, index + 1, step.axis);
      const at = { lo: from.at, hi: from.at };
      const line = held(channel.bundles, route.bundle, () => ({ ...at, ends: [], extent: at }));
      line.ends.push(from, to);
      grow(line, Math.min(from.at, to.at), Math.max(from.at, to.at));
      grow(line.extent, line.lo, line.hi);
      // Wherever the channels at its ends put it, the line has its stretch to itself.
      for (const neighbour of [route.steps[index - 1], route.steps[index + 1]]) {
        if (neighbour) grow(line.extent, frame.extent(neighbour).lo, frame.extent(neighbour).hi);
      }
      const meetsCard = [index === 0 && from.side === 1, index === route.steps.length - 1 && to.side === 1];
      channel.drops ||= step.axis === "h" && meetsCard.includes(true);
    });
  }
  return found;
}

function grow(stretch: { lo: number; hi: number }, lo: number, hi: number): void {
  stretch.lo = Math.min(stretch.lo, lo);
  stretch.hi = Math.max(stretch.hi, hi);
}

function endsOf(points: readonly Point[], index: number, axis: "v" | "h"): [End, End] {
  const [before, a, b, after] = [points[index - 1]!, points[index]!, points[index + 1]!, points[index + 2]!];
  if (axis === "v") {
    return [
      { at: a.y, side: before.x < a.x ? -1 : 1 },
      { at: b.y, side: after.x < b.x ? -1 : 1 },
    ];
  }
  return [
    { at: a.x, side: before.y < a.y ? -1 : 1 },
    { at: b.x, side: after.y < b.y ? -1 : 1 },
  ];
}
