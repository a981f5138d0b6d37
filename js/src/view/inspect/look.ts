/** What of a leaf can be looked at closely, by the form of its lens. */
import { grouped, plural } from "../../format";
import { colourTable } from "../../colour";
import type { Picture } from "../../protocol";
import { computed, type ReadonlySignal, type Signal, signal } from "../../state";
import { type Child, div, figure, html, span } from "../dom";
import { createImagePool } from "../draw/images";
import { drawOverlay, isOverlay, LINE, photoAtPath } from "../draw/overlay";
import { attentionScope } from "./attention";
import { type Classes, className, classesText, classList } from "./classes";
import { composite } from "./composite";
import type { Leaf } from "./detail";
import type { Lens, MapsLens, TokensLens, VectorLens, VolumeLens } from "./lens";
import { itemsGrid, mapsScope, ORIGIN, type Picking } from "./maps";
import { type Choice, chooser, heading, live, remade } from "../parts";
import type { Spot } from "./slice";
import { healthLine } from "./statistics";
import { featureButtons, featureScope, matrixScope, tokensGrid } from "./tokens";
import { vectorScope } from "./vector";
import { cutChooser, firstCut, volumeGrid, volumeScope } from "./volume";

/** As many channels as a picture has colours are better seen one by one. */
const COMPONENTS_FROM = 5;
/** Width of a mask or of boxes, CSS px, and how many of them are named below. */
const [OVERLAY, LINES] = [240, 12];

const section = (name: string, ...children: Child[]): HTMLElement => html(`section.i-section i-${name}`, ...children);

const titled = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}s`;

/** "Channels 24, ranked by [structure]", and whether any say nothing. */
function itemsHeading({ context, lens, summary }: Leaf, end: AbortSignal): HTMLElement {
  const { options } = context.widget;
  const measure = summary.peek().ranking?.measure ?? "";
  const choices: Choice<"structure" | "index">[] = [
    { value: "structure", text: measure },
    { value: "index", text: "index" },
  ];
  const choose = (channel_order: "structure" | "index"): void =>
    context.widget.write("options", { ...options.peek(), channel_order });
  const ranked = measure !== "" && lens.count > 1;
  return heading(
    titled(lens.item),
    ranked ? `${grouped(lens.count)}, ranked by` : grouped(lens.count),
    ranked && chooser(`Order of the ${lens.item}s`, choices, () => options().channel_order, choose, end),
    span("i-space"),
    remade(html("span"), () => [healthLine(summary())], end),
  );
}

/** The item of the view's channel where the reader has picked one that exists here, else `first`. */
function picking<L extends Lens>(leaf: Leaf, lens: L, first = lens.order[0] ?? 0): Picking<L> {
  const { channel } = leaf.context.view;
  const stage = leaf.stage.id;
  return {
    leaf,
    lens,
    picked: computed(() => {
      const { stage: of, item } = channel() ?? { stage: "", item: -1 };
      return of === stage && item >= 0 && item < lens.count ? item : first;
    }),
    pick: (item) => channel.set({ stage, item }),
  };
}

function lookAtMaps(leaf: Leaf, lens: MapsLens, end: AbortSignal): Child[] {
  const source = picking(leaf, lens);
  const one = section("scope-of", ...(lens.attention ? attentionScope : mapsScope)(source, end));
  // The only map is the one that is large.
  if (lens.count <= 1) return [one];
  const items = section("items", itemsHeading(leaf, end), itemsGrid(source, lens.size, end));
  return [items, one, !lens.attention && lens.count >= COMPONENTS_FROM && composite(leaf, lens.size, end)];
}

function lookAtVolume(leaf: Leaf, lens: VolumeLens, end: AbortSignal): Child[] {
  const { picture } = leaf.summary.peek();
  const first = picture.kind === "volume" ? picture.channel : 0;
  const source = { ...picking(leaf, lens, first), cut: signal(firstCut(leaf, lens)) };
  return [
    lens.count > 1 && section("items", itemsHeading(leaf, end), volumeGrid(source, end)),
    section("scope-of", cutChooser(source, end), volumeScope(source, end)),
  ];
}

function lookAtTokens(leaf: Leaf, lens: TokensLens, end: AbortSignal): Child[] {
  const source = picking(leaf, lens);
  const spot = signal(ORIGIN);
  if (!lens.grid)
    return [
      section("items", itemsHeading(leaf, end), featureButtons(source, spot, end)),
      section("scope-of", ...matrixScope(source, spot, end)),
    ];
  const mode = signal<"map" | "matrix">("map");
  const choices: Choice<"map" | "matrix">[] = [
    { value: "map", text: `one ${lens.item} over the patches` },
    { value: "matrix", text: `${lens.rowName}s × ${lens.item}s` },
  ];
  const make = (scope: AbortSignal) =>
    mode() === "map" ? featureScope(source, scope) : matrixScope(source, spot, scope);
  const show = div("i-cut", chooser("What is shown large", choices, mode, mode.set, end));
  return [
    section("items", itemsHeading(leaf, end), tokensGrid(source, end)),
    section("scope-of", show, remade(html("div"), make, end)),
    composite(leaf, lens.grid, end),
  ];
}

function lookAtVector(leaf: Leaf, lens: VectorLens, end: AbortSignal): Child[] {
  const spot = signal(ORIGIN);
  const classes = classesOf(leaf);
  const words = wordsOf(leaf);
  const name = (index: number): string => (classes ? className(classes(), index) : (words[index] ?? ""));
  const best = classes?.peek().entries[0]?.index;
  const find = best === undefined ? undefined : () => ({ row: 0, column: best });
  const values = section("scope-of", ...vectorScope({ leaf, lens, spot, name, find }, end));
  return [classes && classesSection(classes, spot, end), values];
}

/** The tokens whose numbers the vector holds. */
function wordsOf({ summary }: Leaf): readonly string[] {
  const { picture } = summary.peek();
  return picture.kind === "tokens" ? picture.labels : [];
}

function classesOf({ summary }: Leaf): ReadonlySignal<Classes> | null {
  const { picture } = summary.peek();
  if (picture.kind !== "classes") return null;
  let before: Classes = picture;
  return computed(() => {
    // The section is made anew when the kind changes; until then the last classes stay.
    const now = summary().picture;
    if (now.kind === "classes") before = now;
    return before;
  });
}

const classesSection = (classes: ReadonlySignal<Classes>, spot: Signal<Spot>, end: AbortSignal): HTMLElement =>
  section(
    "items",
    heading(
      "Classes",
      html(
        "span",
        live(() => classesText(classes()), end),
      ),
    ),
    classList(classes, spot, end),
  );

function lookAtRest({ summary }: Leaf, end: AbortSignal): Child[] {
  const make = (): Child[] => {
    const { picture } = summary();
    if (picture.kind === "scalar") return [html("output.i-value", picture.text)];
    if (picture.kind === "nothing") return [html("p.i-hatch", picture.reason)];
    return [picture.kind === "classes" && classesSection(signal(picture), signal(ORIGIN), end)];
  };
  return [remade(section("scope-of"), make, end)];
}

/** The mask or the boxes, large; nothing of other kinds. */
function overlaySection({ context, summary }: Leaf, end: AbortSignal): HTMLElement {
  const images = createImagePool(end);
  const { widget, view } = context;
  const make = (): Child[] => {
    const { picture } = summary();
    if (!isOverlay(picture)) return [];
    const [rows, columns] = picture.size;
    const lines = Math.min(picture.entries.length, LINES);
    const box = { width: OVERLAY, height: (OVERLAY * rows) / columns + 3 + lines * LINE };
    const drawn = drawOverlay(picture, {
      box,
      density: view.ratio(),
      measure: (text) => text.length * 6,
      images,
      table: colourTable(view.theme()),
      photoOf: photoAtPath(widget),
    });
    const [title, text] =
      picture.kind === "mask"
        ? ["Mask", maskText(picture)]
        : ["Boxes", `${plural(picture.count, "box", "boxes")}, the best shown`];
    const whole = figure("svg.i-overlay", box.width, box.height, drawn.element);
    return [heading(title, text), whole];
  };
  return remade(section("items"), make, end);
}

/** "argmax of 21 channels, depth 12". */
const maskText = ({ how, depth }: Extract<Picture, { kind: "mask" }>): string =>
  depth === null ? how : `${how}, depth ${depth}`;

export function look(leaf: Leaf, end: AbortSignal): Child[] {
  const { picture } = leaf.summary.peek();
  return [isOverlay(picture) && overlaySection(leaf, end), ...lookAtValues(leaf, end)];
}

function lookAtValues(leaf: Leaf, end: AbortSignal): Child[] {
  const { lens } = leaf;
  switch (lens.form) {
    case "maps":
      return lookAtMaps(leaf, lens, end);
    case "volume":
      return lookAtVolume(leaf, lens, end);
    case "tokens":
      return lookAtTokens(leaf, lens, end);
    case "vector":
      return lookAtVector(leaf, lens, end);
    case "none":
      return lookAtRest(leaf, end);
  }
}
