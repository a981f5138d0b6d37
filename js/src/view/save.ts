/** The picture as a file that stands alone: what the canvas shows, its styles written out, its bitmaps inside. */
import { html, setAttributes, svg } from "./dom";

/** Written where it differs from what the element around has. */
const INHERITED = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "paint-order",
  "image-rendering",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "white-space",
];
/** Written where it differs from this. */
const OWN: Readonly<Record<string, string>> = { opacity: "1", transform: "none", "vector-effect": "none" };
/** There for the pointer only. */
const LEFT_OUT = ".nf-hit, .nf-edge-hit, .nf-hover-layer";
/** Of no use without the page. */
const OF_THE_PAGE = /^(class|style|tabindex|data-.*|aria-(pressed|hidden|keyshortcuts))$/;
/** Pixels of a PNG per CSS px. */
const DENSITY = 2;

/** Mixed colours are computed in a notation that few programs but browsers read. */
function plainColour(value: string): string {
  const parts = /^color\(srgb (\S+) (\S+) (\S+?)(?: \/ (\S+))?\)$/.exec(value);
  if (!parts) return value;
  const bytes = parts.slice(1, 4).map((part) => Math.round(Number(part) * 255));
  return `rgba(${bytes.join(", ")}, ${parts[4] ?? 1})`;
}

/** Writes the styles of `from` and all inside it on its copy, and drops from the copy what cannot be seen. */
function dress(from: Element, to: Element, around: CSSStyleDeclaration | null): void {
  const style = getComputedStyle(from);
  const of = (name: string): string => plainColour(style.getPropertyValue(name));
  if (from.matches(LEFT_OUT) || style.display === "none") {
    to.remove();
    return;
  }
  const copies = [...to.children];
  for (const [i, child] of [...from.children].entries()) dress(child, copies[i]!, style);
  for (const { name } of [...to.attributes]) if (OF_THE_PAGE.test(name)) to.removeAttribute(name);
  for (const name of INHERITED)
    if (style.getPropertyValue(name) !== around?.getPropertyValue(name)) to.setAttribute(name, of(name));
  for (const [name, otherwise] of Object.entries(OWN)) if (of(name) !== otherwise) to.setAttribute(name, of(name));
}

async function drawn(url: string, width = 0, height = 0): Promise<HTMLCanvasElement> {
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = html("canvas", { width: width || image.naturalWidth, height: height || image.naturalHeight });
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** The SVG as text. Bitmaps become PNG, which every program reads. */
export async function standalone(root: SVGSVGElement, name: string): Promise<string> {
  const copy = root.cloneNode(true) as SVGSVGElement;
  dress(root, copy, null);
  const { width, height } = root.getBoundingClientRect();
  setAttributes(copy, { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` });
  const paper = plainColour(getComputedStyle(root.closest(".nf-widget") ?? root).backgroundColor);
  copy.prepend(svg("title", name), svg("rect", { width, height, fill: paper, stroke: "none" }));
  const convert = async (image: SVGImageElement): Promise<void> => {
    const canvas = await drawn(image.getAttribute("href") ?? "");
    image.setAttribute("href", canvas.toDataURL("image/png"));
  };
  await Promise.all([...copy.querySelectorAll("image")].map(convert));
  return new XMLSerializer().serializeToString(copy);
}

function download(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  html("a", { href: url, download: name }).click();
  // The browser has taken hold of it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Lets the browser save what the canvas shows, named after the model. Rejects where the browser cannot draw it. */
export async function save(root: SVGSVGElement, name: string, format: "svg" | "png"): Promise<void> {
  const text = await standalone(root, name);
  const fileName = `${name.replace(/[^\w.-]+/g, "-") || "network"}.${format}`;
  if (format === "svg") return download(new Blob([text], { type: "image/svg+xml" }), fileName);
  const { width, height } = root.getBoundingClientRect();
  const url = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  const canvas = await drawn(url, Math.round(width * DENSITY), Math.round(height * DENSITY));
  const file = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!file) throw new Error("the canvas is too large");
  download(file, fileName);
}
