/** What the layout takes and gives. Lengths are CSS px at 100 %; y grows downwards. */

import type { EdgeKind, Evidence, Shape } from "../protocol";

export interface LayoutStage {
  readonly id: string;
  readonly kind: "input" | "call" | "representation" | "output";
  readonly leaves: readonly { readonly shape: Shape }[];
  readonly order: number;
  readonly group: string;
}

export interface LayoutEdge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly kind: EdgeKind;
  readonly evidence: Evidence;
}

export interface LayoutGroup {
  readonly id: string;
  readonly parent: string;
}

/** The part of a protocol `Graph` that decides where things go. */
export interface LayoutGraph {
  readonly stages: readonly LayoutStage[];
  readonly edges: readonly LayoutEdge[];
  readonly groups: readonly LayoutGroup[];
}

export interface LayoutOptions {
  /** Width of the canvas. */
  readonly width: number;
  /** Height that the canvas may grow to before it pans; 640 when left out. */
  readonly maxHeight?: number;
  readonly card: "small" | "large" | "auto";
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** Which card anatomy is drawn: equal for all cards of a layout. "compact" has no histogram. */
export type CardSize = "small" | "large" | "compact";

export interface Card extends Box {
  readonly id: string;
  /** Middle of the picture box: `left` and `right` are the x of the two ports. */
  readonly port: { readonly y: number; readonly left: number; readonly right: number };
  /** Row of cards, counted from the top. */
  readonly row: number;
}

/** One rectangle of a group. A group that is cut by a row break or by a stranger has several, in reading order. */
export interface GroupBox extends Box {
  readonly id: string;
  /** Room for the name, clear of edges. */
  readonly header: Box;
}

export interface Label extends Point {
  readonly anchor: "start" | "middle" | "end";
  /** "on" breaks the line and is centred on it; "above" has its baseline at y, over the line. */
  readonly placement: "on" | "above";
  /** Longest text that fits. */
  readonly width: number;
}

/** Tip of the arrowhead and the direction that it points in (unit vector). */
export interface Arrow extends Point {
  readonly dx: number;
  readonly dy: number;
}

export interface EdgePath {
  readonly id: string;
  /** SVG path with rounded corners; ends inside the arrowhead. */
  readonly path: string;
  /** The same line with sharp corners, from port to port. */
  readonly points: readonly Point[];
  readonly arrow: Arrow;
  readonly label: Label | null;
  /** `stroke-dashoffset` with which the dashes of edges that share a stretch coincide. */
  readonly dash: number;
}

export interface Layout {
  readonly mode: "row" | "wrap" | "u" | "column";
  readonly size: CardSize;
  /** Suggested first zoom. */
  readonly scale: number;
  readonly width: number;
  readonly height: number;
  readonly cards: readonly Card[];
  readonly groups: readonly GroupBox[];
  readonly edges: readonly EdgePath[];
}
