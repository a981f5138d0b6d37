/** The bitmaps of one picture as SVG images that keep their place from one drawing to the next. */
import { setAttributes, svg } from "../dom";
import type { Cell } from "./plan";

export interface Image {
  readonly url: string;
  readonly exact: boolean;
  /** Hardly larger than the screen's pixels: hard squares of unequal size would only look torn. */
  readonly smooth: boolean;
}

export interface ImagePool {
  /** The image under this name, now showing `url`; the one before stays below it until the new one can be seen. */
  show(name: string, cell: Cell, image: Image): SVGGElement;
  /** Forgets the images that were not shown since the last call. */
  sweep(): void;
}

export function createImagePool(end: AbortSignal): ImagePool {
  const holders = new Map<string, SVGGElement>();
  const used = new Set<string>();
  return {
    show(name, { x, y, width, height }, { url, exact, smooth }) {
      used.add(name);
      const holder = holders.get(name) ?? svg("g.tile");
      holders.set(name, holder);
      const current = holder.lastElementChild;
      const box = { x, y, width, height };
      for (const image of holder.children) setAttributes(image, box);
      if (current?.getAttribute("href") === url) {
        setAttributes(current, { "data-exact": exact, class: smooth && "nf-smooth" });
        return holder;
      }
      while (holder.childElementCount > 1) holder.firstElementChild!.remove();
      holder.firstElementChild?.removeAttribute("data-exact");
      const fresh = svg("image", {
        class: smooth && "nf-smooth",
        ...box,
        href: url,
        preserveAspectRatio: "none",
        "data-exact": exact,
      });
      const seen = (): void => {
        // It may load after it was replaced.
        if (fresh.parentNode !== holder) return;
        while (holder.firstElementChild !== fresh) holder.firstElementChild!.remove();
      };
      fresh.addEventListener("load", seen, { once: true, signal: end });
      holder.append(fresh);
      return holder;
    },
    sweep() {
      for (const name of [...holders.keys()]) if (!used.has(name)) holders.delete(name);
      used.clear();
    },
  };
}
