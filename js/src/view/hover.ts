/** What the pointer is on: stage, edge, and the element of a picture under it. */

import { delayed } from "../ends";
import { percent } from "../format";
import type { Tile } from "../interest";
import type { TileRequest } from "../protocol";
import {
  type Hover,
  NO_HOVER,
  pairOf,
  type Probe,
  probing,
  type ReadonlySignal,
  signal,
  summariesOf,
  watch,
} from "../state";
import { toLayout } from "../viewport";
import { type Plane, valueAt } from "./canvas";
import { exactRequest } from "./detail";
import { on, pointerOn } from "./events";
import { classAt } from "./draw/overlay";
import { photoAt, photoSlots, type Slot } from "./draw/slots";
import type { Placed } from "./draw/tiles";
import type { Pane, StagePicture } from "./pane";

/** A pointer that only passes asks the kernel for nothing. */
const DWELL_MS = 120;

/** A place on a slice, in fractions of its width and height. */
export interface Aim {
  readonly stage: string;
  readonly placed: Placed;
  readonly u: number;
  readonly v: number;
}

const sameAim = (a: Aim | null, b: Aim | null): boolean =>
  a === b || (a !== null && b !== null && a.placed === b.placed && a.u === b.u && a.v === b.v);

/** The slice under a point of a stage's card, counted from the card's corner. */
export function aimAt(stage: string, picture: StagePicture, x: number, y: number): Aim | null {
  const [px, py] = [x - picture.box.x, y - picture.box.y];
  for (const placed of picture.placed) {
    const [u, v] = [(px - placed.x) / placed.width, (py - placed.y) / placed.height];
    if (u >= 0 && u < 1 && v >= 0 && v < 1) return { stage, placed, u, v };
  }
  return null;
}

/** Place in a folded vector that is aimed at; null in the empty end of its last line. */
function foldedAt({ placed, u, v }: Aim, length: number): number | null {
  const lines = Math.ceil(length / placed.folded);
  const at = Math.floor(v * lines) * placed.folded + Math.floor(u * placed.folded);
  return at < length ? at : null;
}

/** Indices of the element that is aimed at, and the overview's value there; null where there is no element. */
export function elementAt(aim: Aim, plane: Plane | null): { row: number; column: number; rough: number | null } | null {
  const { placed, u, v } = aim;
  const [rows, columns] = placed.slot.full;
  if (placed.folded === 0 || !plane) {
    const rough = plane ? valueAt(plane, Math.floor(v * plane.rows), Math.floor(u * plane.columns)) : null;
    return { row: Math.floor(v * rows), column: Math.floor(u * columns), rough };
  }
  const length = plane.rows * plane.columns;
  const at = foldedAt(aim, length);
  if (at === null) return null;
  return { row: 0, column: Math.floor(((at + 0.5) * columns) / length), rough: valueAt(plane, 0, at) };
}

/** The value of an element, from an exact tile that holds it. */
export function exactValue(
  tile: Tile | null,
  request: TileRequest,
  slot: Slot,
  row: number,
  column: number,
): number | null {
  if (!tile || tile.error || !tile.exact) return null;
  const [rows, columns] = slot.full;
  const [top, left] = request.region ?? [0, 0];
  const whole = !request.region && tile.rows * tile.columns === rows * columns + slot.skip;
  const at = whole ? slot.skip + row * columns + column : (row - top) * tile.columns + (column - left);
  return tile.values[at] ?? null;
}

interface Found {
  readonly probe: Probe | null;
  readonly wanted: readonly TileRequest[];
}

const NOTHING: Found = { probe: null, wanted: [] };

/** Reads what is aimed at, and says which tiles would tell it exactly. */
function readAim(aim: Aim, pane: Pane): Found {
  const { stage, placed, u, v } = aim;
  const picture = pane.pictures.get(stage);
  const summary = summariesOf(pane.widget, stage)[0];
  if (!picture || !summary) return NOTHING;
  if (summary.picture.kind === "mask") {
    const { name = "", value = null } = classAt(summary.picture, v, u) ?? {};
    const [rows, columns] = placed.slot.full;
    const position = [Math.floor(v * rows), Math.floor(u * columns)];
    const note = value === null ? "no class" : `${name} · ${percent(value)} of all places`;
    return { probe: { stage, leaf: picture.leaf, part: "", position, value: null, exact: true, note }, wanted: [] };
  }
  const photo = summary.picture.kind === "photo" ? summary.picture : null;
  const plane = photo ? null : picture.style.planeFor(placed.slot);
  const element = elementAt(aim, plane);
  if (!element) return NOTHING;
  const { row, column, rough } = element;
  const place = { widget: pane.widget, stage, leaf: picture.leaf };
  const slots = photo ? photoSlots(summary, photo) : [placed.slot];
  const wanted = slots.map((slot) => exactRequest(place, slot, row, column));
  const exact = wanted.map((each, i) => exactValue(pane.interest.get(each.key), each, slots[i]!, row, column));
  const known = exact.every((value) => value !== null);
  const pair = photo ? [] : pairOf(pane.widget, wanted[0]!);
  const values = pair.flatMap((each) => exactValue(pane.interest.get(each.key), each, placed.slot, row, column) ?? []);
  const probe: Probe = {
    stage,
    leaf: picture.leaf,
    part: placed.slot.part,
    position: !photo && placed.slot.full[0] === 1 && placed.slot.channel === null ? [column] : [row, column],
    value: known ? exact[0]! : rough,
    exact: known,
    ...(photo && known ? { channels: exact } : {}),
    ...(pair.length ? { minus: { frame: pair[1]!.frame, values: values.length === 2 ? values : [] } } : {}),
    ...(photo ? { note: `RGB ${photoAt(photo, v, u).join(" ")}` } : {}),
  };
  return { probe, wanted: [...wanted, ...pair] };
}

const sliceName = (aim: Aim | null): string => (aim ? `${aim.stage} ${aim.placed.slot.part}` : "");

export interface Pointing {
  readonly aim: ReadonlySignal<Aim | null>;
}

/** Follows the pointer over the graph: writes `view.hover` and `view.probe`, and wants the exact values there. */
export function followPointer(pane: Pane, svg: SVGSVGElement, end: AbortSignal): Pointing {
  const { view, interest } = pane;
  const aim = signal<Aim | null>(null);
  const rested = signal("");
  const claim = interest.claim(end);
  const later = delayed(end);
  const point = (hover: Hover, next: Aim | null): void => {
    const before = view.hover.peek();
    if (JSON.stringify(before) !== JSON.stringify(hover)) view.hover.set(hover);
    if (sameAim(aim.peek(), next)) return;
    const slice = sliceName(next);
    if (sliceName(aim.peek()) !== slice) {
      rested.set("");
      later(DWELL_MS, () => rested.set(slice));
    }
    aim.set(next);
  };
  const moved = (event: PointerEvent): void => {
    if (event.buttons !== 0) return;
    const { stage, edge } = under(event);
    if (stage) point({ kind: "stage", id: stage }, aimOf(pane, svg, stage, event));
    else point(edge ? { kind: "edge", id: edge } : NO_HOVER, null);
  };
  on(svg, "pointermove", moved, end);
  on(svg, "pointerleave", () => point(NO_HOVER, null), end);
  const say = probing(view, end);
  watch(end, () => {
    const now = aim();
    pane.repainted();
    const read = now ? readAim(now, pane) : NOTHING;
    claim.want(rested() ? read.wanted : []);
    say(read.probe);
  });
  return { aim };
}

/** Ids of the stage and of the edge that an event is on. */
export function under({ target }: Event): { readonly stage?: string | undefined; readonly edge?: string | undefined } {
  const on = (selector: string) => (target as Element).closest<SVGElement>(selector)?.dataset;
  return { stage: on(".nf-stage")?.stage, edge: on(".nf-edge")?.edge };
}

/** What a stage's picture shows under the pointer. */
export function aimOf(pane: Pane, svg: SVGSVGElement, stage: string, event: MouseEvent): Aim | null {
  const card = pane.cards.peek().get(stage);
  const picture = pane.pictures.get(stage);
  if (!card || !picture) return null;
  const at = pointerOn(svg, event);
  const [x, y] = toLayout(pane.view.viewport.peek(), at.x, at.y);
  return aimAt(stage, picture, x - card.x, y - card.y);
}
