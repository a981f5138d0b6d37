/** Edges and groups: what lies under the cards. */
import { joined, sampleShape, viaText } from "../format";
import { collapse } from "../graph";
import type { Arrow, EdgePath, GroupBox, Label } from "../layout/types";
import type { EdgeInfo, GroupInfo } from "../protocol";
import { lacking, watch } from "../state";
import { type Child, setChildren, svg, svgPath, svgRect } from "./dom";
import { on, onKeys } from "./events";
import { steady } from "./draw/card";
import { CODE, fitText, label, type Measure, NAME, SMALL } from "./draw/text";
import { type Pane, stageLabel } from "./pane";
import { remade } from "./parts";

/**
 * The head of an edge at its tip. It keeps its size on screen above 100 %, where the line ends short of it: a stub closes
 * the gap.
 */
function edgeHead({ x, y, dx, dy }: Arrow): SVGGElement {
  const degrees = (Math.atan2(dy, dx) * 180) / Math.PI;
  return svg(
    "g",
    { transform: `translate(${x} ${y}) rotate(${degrees})` },
    svgPath("edge-line edge-stub", "M-5 0H0"),
    svgPath("edge-head steady", "M0 0L-5.8 3L-5.8 -3z"),
  );
}

/** An edge as it is seen: its line and its head. */
export const edgeLine = ({ path, dash, arrow }: EdgePath): SVGElement[] => [
  svgPath("edge-line", path, { "stroke-dashoffset": dash }),
  edgeHead(arrow),
];

/** "enc1 → dec1": the labels of its two stages. */
export const namesOf = ({ source, target }: EdgeInfo, pane: Pick<Pane, "index">): string =>
  `${stageLabel(pane, source)} → ${stageLabel(pane, target)}`;

/** "enc1 → dec1 · skip · cat(dim=1) · 64×128×128", with the labels of the two stages. */
export function edgeText(edge: EdgeInfo, pane: Pick<Pane, "index">): string {
  const { kind, shape, evidence } = edge;
  return joined([
    namesOf(edge, pane),
    kind,
    viaText(edge),
    shape && sampleShape(shape),
    evidence === "inferred" && evidence,
  ]);
}

function edgeLabel(edge: EdgeInfo, place: Label, measure: Measure): SVGGElement | null {
  const via = viaText(edge);
  const shape = edge.shape ? sampleShape(edge.shape) : "";
  const names = edge.via.map((op) => op.name).join(" · ");
  const spellings = [joined([via, shape]), via, names, shape].filter((text) => text !== "");
  const text =
    spellings.find((each) => measure(each, CODE) <= place.width) ?? fitText(names, place.width, measure, CODE);
  if (!text) return null;
  const on = place.placement === "on";
  const drawn = label(0, on ? 4 : -1, text, `edge-label ${place.anchor}`);
  if (!on) return steady(place.x, place.y, drawn);
  // The line is broken by paper the size of the words.
  const room = measure(text, CODE) + 12;
  const left = { start: -6, middle: -room / 2, end: 6 - room }[place.anchor];
  const paper = svgRect("edge-paper", left, -8, room, 16);
  return steady(place.x, place.y, paper, drawn);
}

function edgeElement(edge: EdgeInfo, path: EdgePath, pane: Pane): SVGGElement {
  const attributes = {
    "data-edge": edge.id,
    "data-source": edge.source,
    "data-target": edge.target,
    "data-kind": edge.kind,
    "data-evidence": edge.evidence,
    "data-failed": pane.index().stages.get(edge.target)?.status === "raised",
    role: "img",
    label: edgeText(edge, pane),
  };
  return svg(
    "g.edge",
    attributes,
    svgPath("edge-hit", path.path),
    svgPath("edge-halo", path.path),
    ...edgeLine(path),
    path.label && edgeLabel(edge, path.label, pane.measure),
  );
}

/** One element per edge of the graph. */
export function createEdges(pane: Pane, end: AbortSignal): SVGGElement {
  const layer = svg("g.edges");
  const mark = (selected: string): void => {
    for (const element of layer.children)
      element.classList.toggle("nf-selected", element.getAttribute("data-edge") === selected);
  };
  watch(end, () => {
    const { edges } = pane.index();
    const drawn = (pane.layout()?.edges ?? []).map((path) => {
      const edge = edges.get(path.id);
      return edge && edgeElement(edge, path, pane);
    });
    setChildren(layer, drawn);
    mark(pane.widget.selected.peek());
  });
  watch(end, () => mark(pane.widget.selected()));
  return layer;
}

function groupElement(box: GroupBox, group: GroupInfo, pane: Pane, end: AbortSignal): SVGGElement {
  const { x, y, width, height, header } = box;
  const frame = svgRect("group-box", x, y, width, height, { rx: 6 });
  const element = svg("g.group", { "data-stage": group.id }, svg("title", group.label), frame);
  if (!header) return element;
  const open = pane.widget.expanded().includes(group.id);
  const room = header.width - (open ? 22 : 0);
  const text = fitText(group.label, room, pane.measure, NAME);
  const taken = pane.measure(text, NAME) + 8;
  const type = fitText(group.type_name, room - taken, pane.measure, SMALL);
  const left = open ? 20 : 2;
  const words = svg(
    "g.group-name",
    label(left, 14, text, "name"),
    type && room - taken > 24 && label(left + taken, 14, type, "type"),
    open && collapseButton(group, pane, end),
  );
  element.append(steady(header.x, header.y, words));
  return element;
}

function collapseButton({ id, label }: GroupInfo, { widget, index }: Pane, end: AbortSignal): SVGGElement {
  const name = `Close ${label}`;
  const button = svg(
    "g.collapse",
    { role: "button", tabindex: 0, label: name, "aria-disabled": !widget.kernel || null },
    svg("title", lacking(widget, "Other depths") || name),
    svgRect("hit", 0, 1, 18, 18),
    svg("path", { d: "M5.5 10h7" }),
  );
  const close = (): void => {
    if (widget.kernel) widget.write("expanded", collapse(index.peek(), widget.expanded.peek(), id));
  };
  const press = ({ key }: KeyboardEvent): boolean => {
    const ours = key === "Enter" || key === " ";
    if (ours) close();
    return ours;
  };
  const click = (event: Event): void => {
    event.stopPropagation();
    close();
  };
  on(button, "click", click, end);
  onKeys(button, press, end);
  return button;
}

export function createGroups(pane: Pane, end: AbortSignal): SVGGElement {
  const make = (scope: AbortSignal): Child[] => {
    const { groups } = pane.index();
    return (pane.layout()?.groups ?? []).map((box) => {
      const group = groups.get(box.id);
      return group && groupElement(box, group, pane, scope);
    });
  };
  return remade(svg("g.groups"), make, end);
}
