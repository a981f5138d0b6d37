/** What must hold of every layout. Each check returns what is wrong, in words. */

import type { Box, Layout, LayoutGraph, Point } from "../../src/layout/types";

const NEAR = 0.01;

interface Segment {
  readonly a: Point;
  readonly b: Point;
}

export const segmentsOf = (points: readonly Point[]): Segment[] =>
  points.slice(1).map((b, index) => ({ a: points[index]!, b }));

/** Inside, not on the border. */
function crosses({ a, b }: Segment, box: Box): boolean {
  return (
    Math.max(a.x, b.x) > box.x + NEAR &&
    Math.min(a.x, b.x) < box.x + box.width - NEAR &&
    Math.max(a.y, b.y) > box.y + NEAR &&
    Math.min(a.y, b.y) < box.y + box.height - NEAR
  );
}

const overlap = (a: Box, b: Box): boolean => crosses({ a, b: { x: a.x + a.width, y: a.y + a.height } }, b);
const holds = (outer: Box, inner: Box): boolean =>
  inner.x >= outer.x - NEAR &&
  inner.y >= outer.y - NEAR &&
  inner.x + inner.width <= outer.x + outer.width + NEAR &&
  inner.y + inner.height <= outer.y + outer.height + NEAR;

export function cardsOverlap({ cards }: Layout): string[] {
  return cards.flatMap((a, index) =>
    cards.slice(index + 1).flatMap((b) => (overlap(a, b) ? [`${a.id} over ${b.id}`] : [])),
  );
}

export function linesThroughCards({ cards, edges }: Layout): string[] {
  return edges.flatMap(({ id, points }) =>
    segmentsOf(points).flatMap((segment) =>
      cards.flatMap((card) => (crosses(segment, card) ? [`${id} through ${card.id}`] : [])),
    ),
  );
}

export function outside({ width, height, cards, groups, edges }: Layout): string[] {
  const page = { x: 0, y: 0, width, height };
  const at = ({ x, y }: Point): Box => ({ x, y, width: 0, height: 0 });
  return [
    ...cards.filter((card) => !holds(page, card)).map(({ id }) => `card ${id}`),
    ...groups.filter((group) => !holds(page, group)).map(({ id }) => `group ${id}`),
    ...edges.filter(({ points }) => points.some((point) => !holds(page, at(point)))).map(({ id }) => `edge ${id}`),
  ];
}

/** Cards of a row share one port line, rows lie one below the other, and the port is where the card says. */
export function rowsUneven({ cards }: Layout): string[] {
  const line = new Map<number, number>();
  const wrong: string[] = [];
  for (const { id, row, y, x, width, port } of cards) {
    if ((line.get(row) ?? port.y) !== port.y) wrong.push(`${id} off its row`);
    line.set(row, port.y);
    if (port.left !== x || port.right !== x + width || port.y <= y) wrong.push(`port of ${id}`);
  }
  const rows = [...line].sort(([a], [b]) => a - b);
  rows.forEach(([row, y], index) => {
    if (index > 0 && y <= rows[index - 1]![1]) wrong.push(`row ${row} not below the one before`);
  });
  return wrong;
}

/** Each line leaves its source's border, follows the axes, and its arrow points into its target's border. */
export function linesLoose(graph: LayoutGraph, { cards, edges }: Layout): string[] {
  const card = new Map(cards.map((one) => [one.id, one]));
  const drawn = new Map(edges.map((edge) => [edge.id, edge]));
  const wrong: string[] = [];
  for (const { id, source, target } of graph.edges) {
    const edge = drawn.get(id);
    if (!edge) {
      wrong.push(`${id} is not drawn`);
      continue;
    }
    const { points, arrow, path } = edge;
    const [first, tip] = [points[0]!, points.at(-1)!];
    if (!onBorder(card.get(source)!, first)) wrong.push(`${id} does not start at ${source}`);
    if (!onBorder(card.get(target)!, tip)) wrong.push(`${id} does not end at ${target}`);
    if (segmentsOf(points).some(({ a, b }) => Math.abs(a.x - b.x) > NEAR && Math.abs(a.y - b.y) > NEAR))
      wrong.push(`${id} is slanted`);
    const inwards = { x: tip.x + arrow.dx, y: tip.y + arrow.dy };
    if (!crosses({ a: tip, b: inwards }, card.get(target)!)) wrong.push(`the arrow of ${id} points away`);
    if (/NaN|undefined|Infinity/.test(path)) wrong.push(`the path of ${id} is broken`);
  }
  if (drawn.size !== graph.edges.length) wrong.push("edges drawn twice, or out of nothing");
  return wrong;
}

function onBorder(box: Box, { x, y }: Point): boolean {
  const inX = x >= box.x - NEAR && x <= box.x + box.width + NEAR;
  const inY = y >= box.y - NEAR && y <= box.y + box.height + NEAR;
  const onX = Math.abs(x - box.x) < NEAR || Math.abs(x - box.x - box.width) < NEAR;
  const onY = Math.abs(y - box.y) < NEAR || Math.abs(y - box.y - box.height) < NEAR;
  return (onX && inY) || (onY && inX);
}

/** Lines of edges that have neither end in common never lie on each other: a reader could not tell them apart. */
export function linesOnLines(graph: LayoutGraph, { edges }: Layout): string[] {
  const info = new Map(graph.edges.map((edge) => [edge.id, edge]));
  const wrong: string[] = [];
  edges.forEach((one, index) => {
    for (const other of edges.slice(index + 1)) {
      const [a, b] = [info.get(one.id)!, info.get(other.id)!];
      if (a.source === b.source || a.target === b.target) continue;
      const together = segmentsOf(one.points).some((first) =>
        segmentsOf(other.points).some((second) => shared(first, second) > 0.5),
      );
      if (together) wrong.push(`${one.id} on ${other.id}`);
    }
  });
  return wrong;
}

/** Length that two segments have in common. */
function shared(one: Segment, other: Segment): number {
  const along = (axis: "x" | "y", across: "x" | "y"): number => {
    if (Math.abs(one.a[across] - one.b[across]) > NEAR || Math.abs(other.a[across] - other.b[across]) > NEAR) return 0;
    if (Math.abs(one.a[across] - other.a[across]) > 1) return 0;
    const hi = Math.min(Math.max(one.a[axis], one.b[axis]), Math.max(other.a[axis], other.b[axis]));
    return hi - Math.max(Math.min(one.a[axis], one.b[axis]), Math.min(other.a[axis], other.b[axis]));
  };
  return Math.max(along("x", "y"), along("y", "x"));
}

/** A group's rectangles hold all its stages and no others, lie inside its parent's, and name it inside themselves. */
export function groupsWrong(graph: LayoutGraph, { cards, groups }: Layout): string[] {
  const parent = new Map(graph.groups.map((group) => [group.id, group.parent]));
  const around = (id: string): string[] => (parent.has(id) ? [id, ...around(parent.get(id)!)] : []);
  const inside = new Map(graph.stages.map((stage) => [stage.id, new Set(around(stage.group))]));
  const wrong: string[] = [];
  for (const card of cards) {
    for (const group of groups) {
      if (!inside.get(card.id)!.has(group.id) && overlap(card, group))
        wrong.push(`${card.id} is no part of ${group.id}`);
    }
    for (const id of inside.get(card.id)!) {
      if (!groups.some((group) => group.id === id && holds(group, card))) wrong.push(`${card.id} is outside ${id}`);
    }
  }
  for (const group of groups) {
    if (!holds(group, group.header)) wrong.push(`the name of ${group.id} is outside`);
    for (const other of groups) {
      if (other !== group && other.id === parent.get(group.id) && overlap(group, other) && !holds(other, group))
        wrong.push(`${group.id} sticks out of ${other.id}`);
    }
  }
  return wrong;
}

/** Labels stand on or over their own line, clear of cards. */
export function labelsWrong({ cards, edges }: Layout): string[] {
  return edges.flatMap(({ id, label, points }) => {
    if (!label) return [];
    const taken = Math.min(label.width, 60);
    const x = label.anchor === "start" ? label.x : label.anchor === "end" ? label.x - taken : label.x - taken / 2;
    const box = { x, y: label.placement === "on" ? label.y - 5 : label.y - 9, width: taken, height: 10 };
    const line = label.placement === "on" ? label.y : label.y + 8;
    const carried = segmentsOf(points).some(
      ({ a, b }) =>
        a.y === b.y &&
        Math.abs(a.y - line) < 1 &&
        Math.min(a.x, b.x) <= box.x + NEAR &&
        Math.max(a.x, b.x) >= box.x + box.width - NEAR,
    );
    return [
      ...(carried ? [] : [`the label of ${id} is off its line`]),
      ...cards.filter((card) => overlap(box, card)).map((card) => `the label of ${id} is on ${card.id}`),
    ];
  });
}

export function faults(graph: LayoutGraph, drawn: Layout): string[] {
  return [
    ...cardsOverlap(drawn),
    ...linesThroughCards(drawn),
    ...outside(drawn),
    ...rowsUneven(drawn),
    ...linesLoose(graph, drawn),
    ...linesOnLines(graph, drawn),
    ...groupsWrong(graph, drawn),
    ...labelsWrong(drawn),
  ];
}
