/** One stage: its element, kept up to date with what is known of it. */
import { joined } from "../format";
import { atEnd } from "../ends";
import { colourTable } from "../colour";
import type { StageInfo, Summary, TileRequest } from "../protocol";
import { computed, type ReadonlySignal, summariesOf, untracked, watch } from "../state";
import { planeRange } from "./canvas";
import { bestPlane, sharpRequest, wholeRequest } from "./detail";
import { setChildren, setAttributes, svg } from "./dom";
import { alarmText, type CardStyle, drawCard, isAlarming, pictureBox, shapeOf } from "./draw/card";
import { drawFar } from "./draw/far";
import { createImagePool, type ImagePool } from "./draw/images";
import { photoAtPath } from "./draw/overlay";
import { drawPicture } from "./draw/picture";
import type { Cell } from "./draw/plan";
import { photoSlots } from "./draw/slots";
import { sparkline } from "./draw/spark";
import type { Drawing, PictureStyle } from "./draw/tiles";
import type { Pane } from "./pane";
import { leafScale } from "./scale";

interface Parts {
  readonly pane: Pane;
  readonly id: string;
  readonly images: ImagePool;
  readonly selected: ReadonlySignal<boolean>;
  /** Some part is on the canvas: what cannot be seen is not drawn. */
  readonly visible: ReadonlySignal<boolean>;
  /** Detail is wanted because the stage is near and on the canvas. */
  readonly near: ReadonlySignal<boolean>;
  /** Where the stage is in a running capture. */
  readonly waiting: ReadonlySignal<CardStyle["waiting"]>;
}

export function createStage(pane: Pane, id: string, end: AbortSignal): SVGGElement {
  const { widget, view, interest } = pane;
  const element = svg("g.stage", { "data-stage": id, role: "button", "aria-keyshortcuts": "Enter e" });
  const parts: Parts = {
    pane,
    id,
    images: createImagePool(end),
    selected: computed(() => widget.selected() === id),
    visible: computed(() => pane.visible().has(id)),
    near: computed(() => view.level() === "near" && pane.visible().has(id)),
    waiting: computed(() => {
      const { state, done, total } = widget.status();
      if (state !== "busy" || total === 0) return "queued";
      return widget.graph()?.stages[done]?.id === id ? "now" : "queued";
    }),
  };
  const claim = interest.claim(end);
  let looked = false;
  watch(end, () => {
    const card = pane.cards().get(id);
    if (card) element.style.transform = `translate(${card.x}px, ${card.y}px)`;
  });
  watch(end, () => {
    setAttributes(element, {
      tabindex: view.focus() === id ? 0 : -1,
      "aria-pressed": parts.selected(),
    });
    element.classList.toggle("nf-selected", parts.selected());
  });
  watch(end, () => {
    const stage = pane.index().stages.get(id);
    if (stage) describe(element, stage, summariesOf(widget, id));
  });
  watch(end, () => {
    if (!parts.visible()) return claim.want([]);
    looked ||= parts.selected() || parts.near();
    claim.want(draw(element, parts, looked));
  });
  atEnd(end, () => pane.pictures.delete(id));
  return element;
}

/** Redraws the element and returns the tiles that would make it sharper. */
function draw(element: SVGGElement, parts: Parts, looked: boolean): readonly TileRequest[] {
  const { pane, id } = parts;
  const stage = pane.index().stages.get(id);
  const card = pane.cards().get(id);
  const size = pane.layout()?.size;
  if (!stage || !card || size === undefined) return [];
  const summaries = summariesOf(pane.widget, id);
  const level = pane.view.level();
  const { kernel: live } = pane.widget;
  const plain = { size, level, card, measure: pane.measure, k: pane.step(), waiting: parts.waiting(), live };
  const pictureStyle = styleOf(parts, summaries[0], plain, looked);
  const far = level === "far";
  const drawing = far || !summaries[0] ? null : drawPicture(summaries[0], pictureStyle);
  const wanted = !drawing || !looked ? [] : requests(parts, summaries[0]!, drawing, pictureStyle);
  const spark = (cell: Cell) => sparkline(pane.widget, id, cell);
  const children = far
    ? drawFar(stage, summaries, { ...plain, late: false, failed: false }, pictureStyle)
    : drawCard({ stage, summaries, drawing }, { ...plain, spark, ...fateOf(parts, wanted) });
  setChildren(element, children);
  // Keeps the words apart for who reads the text without the picture.
  for (const text of element.querySelectorAll("text")) text.after(" ");
  describe(element, stage, summaries);
  const placed = drawing?.placed ?? [];
  pane.pictures.set(id, { leaf: summaries[0]?.leaf ?? "", box: pictureBox(plain), placed, style: pictureStyle });
  untracked(() => pane.repainted.set(pane.repainted.peek() + 1));
  parts.images.sweep();
  return wanted;
}

/** Whether what is wanted takes long, or cannot be had. */
function fateOf({ pane: { interest } }: Parts, wanted: readonly TileRequest[]): Pick<CardStyle, "late" | "failed"> {
  const late = wanted.length > 0 && interest.slow() && wanted.some(({ key }) => interest.lacking().has(key));
  return { late, failed: wanted.some(({ key }) => interest.get(key)?.error) };
}

/** Its name begins with what can be read on the card, as speech input needs it, and adds what was cut off. */
function describe(element: SVGGElement, stage: StageInfo, summaries: readonly Summary[]): void {
  const alarm = alarmText(stage, summaries[0]);
  const read = Array.from(element.querySelectorAll("text"), (text) => text.textContent).join(" ");
  const words = [stage.label, stage.type_name, shapeOf(stage, summaries), alarm && `warning ${alarm}`];
  setAttributes(element, {
    label: joined([read, ...words.filter((word) => !read.includes(word))], ", "),
    "data-status": stage.status,
    "data-alarm": isAlarming(summaries[0]),
  });
}

function styleOf(
  parts: Parts,
  summary: Summary | undefined,
  card: Omit<CardStyle, "late" | "failed">,
  looked: boolean,
): PictureStyle {
  const { pane, id, images } = parts;
  const { widget, view, interest } = pane;
  const { channel_order } = widget.options();
  const place = { widget, stage: id, leaf: summary?.leaf ?? "" };
  return {
    card: card.size,
    level: card.level,
    box: pictureBox(card),
    order: channel_order,
    table: colourTable(view.theme()),
    density: card.level === "far" ? view.ratio() : pane.density(),
    measure: card.measure,
    images,
    photoOf: photoAtPath(widget),
    planeFor: (slot) => (looked ? bestPlane(place, slot, interest) : slot.plane),
    scaleFor: (plane) => leafScale(widget, summary, () => planeRange(plane)),
  };
}

/** Elements that a selected stage fetches exactly: 8 MiB of float32. */
const EXACT_UP_TO = 2 ** 21;

/** Tiles for the slices in front: exact ones of the selected stage, sharp enough ones of what is near. */
function requests(parts: Parts, summary: Summary, drawing: Drawing | null, style: PictureStyle): TileRequest[] {
  const place = { widget: parts.pane.widget, stage: parts.id, leaf: summary.leaf };
  const exact = parts.selected();
  if (!drawing || !(exact || parts.near())) return [];
  const { picture } = summary;
  if (picture.kind === "photo") return photoSlots(summary, picture).map((slot) => wholeRequest(place, slot));
  // Classes were found from all channels: no slice would show them better.
  if (picture.kind === "mask") return [];
  let left = exact ? EXACT_UP_TO : 0;
  return drawing.placed.map(({ slot, width, height }) => {
    const elements = slot.full[0] * slot.full[1];
    if (elements > left) return sharpRequest(place, slot, Math.max(width, height) * style.density);
    left -= elements;
    return wholeRequest(place, slot);
  });
}
