/** The bitmaps of one picture as SVG images that keep their place from one drawing to the next. */
import { held } from "../../lists";
import { type Attributes, setAttributes, svg } from "../dom";
import { on } from "../events";
import type { Cell } from "./plan";

export interface Image {
  readonly url: string;
  readonly exact: boolean;
  /** Hardly larger than the screen's pixels: hard squares of unequal size would only look torn. */
  readonly smooth: boolean;
}

/** A bitmap that fills a cell. */
export const imageAt = ({ x, y, width, height }: Cell, href: string, rest: Attributes = {}): SVGImageElement =>
  svg("image", { x, y, width, height, href, preserveAspectRatio: "none", ...rest });

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
    show(name, cell, { url, exact, smooth }) {
      used.add(name);
      const holder = held(holders, name, () => svg("g.tile"));
      const current = holder.lastElementChild;
      const { x, y, width, height } = cell;
      for (const image of holder.children) setAttributes(image, { x, y, width, height });
      const marks = { "data-exact": exact, class: smooth && "nf-smooth" };
      if (current?.getAttribute("href") === url) {
        setAttributes(current, marks);
        return holder;
      }
      while (holder.childElementCount > 1) holder.firstElementChild!.remove();
      current?.removeAttribute("data-exact");
      const fresh = imageAt(cell, url, marks);
      const seen = (): void => {
        // It may load after it was replaced.
        if (fresh.parentNode !== holder) return;
        while (holder.firstElementChild !== fresh) holder.firstElementChild!.remove();
      };
      on(fresh, "load", seen, end, { once: true });
      holder.append(fresh);
      return holder;
    },
    sweep() {
      for (const name of [...holders.keys()]) if (!used.has(name)) holders.delete(name);
      used.clear();
    },
  };
}
