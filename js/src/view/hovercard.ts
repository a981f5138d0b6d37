/** The card of a hovered edge: the edge itself is the rule under its header; below it, what crosses. */
import { colourTable } from "../colour";
import { sampleShape, viaText } from "../format";
import { longestLevel } from "../layout/path";
import type { EdgePath, Point } from "../layout/types";
import type { EdgeInfo, Summary } from "../protocol";
import { summariesOf, watch } from "../state";
import { rectAt, toScreen } from "../viewport";
import { bitmapOf, bitmapUrl, planeRange } from "./canvas";
import { type Child, DECORATION, movedTo, setChildren, svg, svgPath, svgRect } from "./dom";
import { imageAt } from "./draw/images";
import { inside } from "./draw/plan";
import { mapSlots } from "./draw/slots";
import { CODE, fitText, label, NAME } from "./draw/text";
import { edgeLine, namesOf } from "./edges";
import type { Pane } from "./pane";
import { leafScale } from "./scale";

const WIDTH = 180;
const HEADER = 30;
const TILES = 4;
const TILE = 40;
const INSET = 9;
/** An edge this long carries the card on itself. */
const ROOM = WIDTH;

/** The longest level stretch of a line, on screen: its middle and its length. */
function levelStretch(points: readonly Point[], pane: Pane): { x: number; y: number; length: number } {
  const { lo, hi, y } = longestLevel(points) ?? { lo: points[0]!.x, hi: points[0]!.x, y: points[0]!.y };
  const at = toScreen(pane.view.viewport(), rectAt(lo, y, hi - lo, 0));
  return { x: at.x + at.width / 2, y: at.y, length: at.width };
}

function tiles(summary: Summary | undefined, pane: Pane): Child[] {
  if (!summary) return [];
  const { channel_order } = pane.widget.options();
  const slots = mapSlots(summary, channel_order, TILES).filter(({ plane }) => plane);
  const table = colourTable(pane.view.theme());
  return slots.map(({ plane, full: [rows, columns] }, i) => {
    const { width, height } = inside(rows, columns, TILE, TILE);
    const scale = leafScale(pane.widget, summary, () => planeRange(plane!));
    const href = bitmapUrl(bitmapOf(plane!, { scale, table, width, height, ratio: pane.view.ratio() }));
    const place = rectAt(INSET + 1 + i * (TILE + 0.3), HEADER + 7 + (TILE - height) / 2, width, height);
    return imageAt(place, href);
  });
}

/** Content of the card; its header rule is drawn only where the edge does not do it. */
function content(edge: EdgeInfo, pane: Pane, carried: boolean): { children: Child[]; height: number } {
  const summary = summariesOf(pane.widget, edge.source)[0];
  const pictures = tiles(summary, pane);
  const kind = pane.measure(edge.kind, "600 11px ui");
  const title = fitText(namesOf(edge, pane), WIDTH - 2 * INSET - kind - 8, pane.measure, NAME);
  const shape = edge.shape ? sampleShape(edge.shape) : "";
  const via = fitText(viaText(edge), WIDTH - 2 * INSET - pane.measure(shape, CODE) - 8, pane.measure, CODE);
  const bottom = pictures.length ? HEADER + TILE + 23 : HEADER + 18;
  const children: Child[] = [
    label(INSET, 18, title, "name"),
    label(WIDTH - INSET, 18, edge.kind, "kind end"),
    !carried && svgPath("edge-line", `M${INSET} ${HEADER}H${WIDTH - INSET}`),
    ...pictures,
    label(INSET, bottom, via, "shape"),
    label(WIDTH - INSET, bottom, shape, "shape end"),
  ];
  return { children, height: bottom + 9 };
}

function drawCard(edge: EdgeInfo, path: EdgePath, pane: Pane): SVGGElement {
  const { width, height: room } = pane.view.size();
  const stretch = levelStretch(path.points, pane);
  const carried = stretch.length >= ROOM;
  const { children, height } = content(edge, pane, carried);
  const clamp = (value: number, most: number): number => Math.max(4, Math.min(most - 4, value));
  const x = clamp(stretch.x - WIDTH / 2, width - WIDTH);
  const below = stretch.y + 14;
  const y = carried
    ? stretch.y - HEADER
    : clamp(below + height > room ? stretch.y - height - 14 : below, room - height);
  const { k, x: vx, y: vy } = pane.view.viewport();
  return svg(
    "g.hover edge-colours",
    { "data-kind": edge.kind, "data-evidence": edge.evidence },
    svgRect("raised", x + 0.5, y + 0.5, WIDTH, height, { rx: 5 }),
    movedTo(x, y, ...children),
    carried && svg("g.hot", { transform: `translate(${vx} ${vy}) scale(${k})` }, ...edgeLine(path)),
  );
}

export function createHoverCard(pane: Pane, end: AbortSignal): SVGGElement {
  const layer = svg("g.hover-layer", DECORATION);
  watch(end, () => {
    const hover = pane.view.hover();
    const edge = hover.kind === "edge" ? pane.index().edges.get(hover.id) : undefined;
    const path = edge && pane.layout()?.edges.find(({ id }) => id === edge.id);
    setChildren(layer, edge && path ? [drawCard(edge, path, pane)] : []);
  });
  return layer;
}
