/** The graph pane: groups, edges and cards in one SVG, moved and scaled as one. */
import { atEnd, delayed } from "../ends";
import { held } from "../lists";
import { type GraphIndex, type Lit, litByEdge, litByStage } from "../graph";
import type { Card, Layout } from "../layout/types";
import { computed, type ReadonlySignal, signal, untracked, type ViewContext, watch } from "../state";
import { overlaps, toScreen } from "../viewport";
import { follow } from "./actions";
import { div, setAttributes, svg } from "./dom";
import type { Measure } from "./draw/text";
import { createEdges, createGroups } from "./edges";
import { followGestures } from "./gestures";
import { followPointer } from "./hover";
import { createHoverCard } from "./hovercard";
import { followKeys } from "./keys";
import { type Pane, sameSet, steadyValue } from "./pane";
import { createPixels } from "./pixels";
import { createStage } from "./stage";

/** Longer than the longest transition of a re-wrap. */
const MOVE_MS = 320;

export interface GraphPane {
  readonly element: HTMLElement;
  readonly picture: SVGSVGElement;
  readonly pane: Pane;
}

export interface GraphSource {
  readonly index: ReadonlySignal<GraphIndex>;
  readonly layout: ReadonlySignal<Layout | null>;
  readonly measure: Measure;
}

function createPane(context: ViewContext, source: GraphSource): Pane {
  const { view } = context;
  const elements: Pane["elements"] = new Map();
  const keep = steadyValue<ReadonlySet<string>>(sameSet);
  const cards = computed(() => new Map<string, Card>(source.layout()?.cards.map((card) => [card.id, card])));
  return {
    ...context,
    ...source,
    cards,
    visible: computed(() => {
      const canvas = { x: 0, y: 0, ...view.size() };
      const seen = [...cards().values()].filter((card) => overlaps(toScreen(view.viewport(), card), canvas));
      return keep(new Set(seen.map((card) => card.id)));
    }),
    step: computed(() => {
      const { k } = view.viewport();
      if (view.level() === "far") return Math.round(k * 20) / 20;
      return view.level() === "near" ? 1.6 : Math.max(1, Math.floor(k * 5) / 5);
    }),
    density: computed(() => {
      const doublings = Math.ceil(Math.log2(view.viewport().k));
      return view.ratio() * 2 ** Math.max(0, Math.min(5, doublings));
    }),
    pictures: new Map(),
    repainted: signal(0),
    elements,
    focusStage: (id) => elements.get(id)?.focus({ preventScroll: true }),
  };
}

export function createGraphPane(context: ViewContext, source: GraphSource, end: AbortSignal): GraphPane {
  const pane = createPane(context, source);
  const { view } = pane;
  const stages = svg("g.stages");
  const scene = svg("g.scene", createGroups(pane, end), createEdges(pane, end), stages);
  const root = svg("svg.svg", { role: "group", label: "Stages of the network" }, scene);
  const element = div("canvas", { tabindex: -1 }, root);
  keepStages(pane, stages, end);
  watch(end, () => follow(pane));
  watch(end, () => {
    const { k, x, y } = view.viewport();
    scene.style.transform = `translate(${x}px, ${y}px) scale(${k})`;
  });
  // Text keeps its size on screen from 100 % up, and when far. Apart: whatever sets it has all styles looked at again.
  const textScale = computed(() => 1 / Math.max(view.level() === "far" ? 0 : 1, view.viewport().k));
  watch(end, () => {
    root.style.setProperty("--nf-s", String(textScale()));
    setAttributes(root, { "data-level": view.level() });
  });
  light(pane, root, end);
  moveSoftly(pane, root, end);
  const pointing = followPointer(pane, root, end);
  root.append(createPixels(pane, pointing, end), createHoverCard(pane, end));
  followGestures(pane, element, root, end);
  followKeys(pane, element, end);
  return { element, picture: root, pane };
}

/** One element per stage of the graph, in its order; each lives until its stage goes. */
function keepStages(pane: Pane, layer: SVGGElement, end: AbortSignal): void {
  const { elements, cards } = pane;
  const ends = new Map<string, AbortController>();
  watch(end, () => {
    const ids = [...pane.index().stages.keys()].filter((id) => cards().has(id));
    for (const [id, element] of elements) {
      if (cards().has(id)) continue;
      ends.get(id)!.abort();
      element.remove();
      elements.delete(id);
    }
    untracked(() => {
      for (const [i, id] of ids.entries()) {
        const element = held(elements, id, () => {
          const stop = new AbortController();
          ends.set(id, stop);
          return createStage(pane, id, stop.signal);
        });
        // Only what is out of place is moved: moving an element takes the keyboard from it.
        if (layer.children[i] !== element) layer.insertBefore(element, layer.children[i] ?? null);
      }
      if (!elements.has(pane.view.focus())) pane.view.focus.set(ids[0] ?? "");
    });
  });
  atEnd(end, () => {
    for (const stop of ends.values()) stop.abort();
  });
}

/** Dims what the hovered stage or edge has nothing to do with. */
function light(pane: Pane, root: SVGSVGElement, end: AbortSignal): void {
  const lit = computed((): Lit | null => {
    const hover = pane.view.hover();
    if (hover.kind === "nothing") return null;
    return hover.kind === "stage" ? litByStage(pane.index(), hover.id) : litByEdge(pane.index(), hover.id);
  });
  watch(end, () => {
    const now = lit();
    const hover = pane.view.hover();
    pane.cards();
    const hot = hover.kind === "edge" ? pane.index().edges.get(hover.id) : undefined;
    root.classList.toggle("nf-dimming", now !== null);
    for (const [id, element] of pane.elements) {
      element.classList.toggle("nf-lit", !!now?.stages.has(id));
      setAttributes(element, { "data-hot": (hot?.source === id || hot?.target === id) && hot?.kind });
    }
    for (const element of root.querySelectorAll<SVGGElement>(".nf-edge")) {
      const id = element.dataset.edge ?? "";
      element.classList.toggle("nf-lit", !!now?.edges.has(id));
      element.classList.toggle("nf-hot", hot?.id === id);
    }
  });
}

/** Lets cards glide to their places when the layout changes, and only then. */
function moveSoftly(pane: Pane, root: SVGSVGElement, end: AbortSignal): void {
  const later = delayed(end);
  let before: Layout | null = null;
  watch(end, () => {
    const now = pane.layout();
    if (before && now && now !== before) {
      root.classList.add("nf-moving");
      later(MOVE_MS, () => root.classList.remove("nf-moving"));
    }
    before = now;
  });
}
