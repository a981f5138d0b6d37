/** Contact sheet: every fixture's layout as plain SVG in one HTML page on stdout. `npm run -s sheet > sheet.html` */

import { layout } from "../src/layout/index";
import type { Layout, LayoutGraph } from "../src/layout/types";
import { FIXTURES } from "../test/layout/fixtures";

const WIDTHS = [760, 1200, 400];
const xml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

function edges(graph: LayoutGraph, drawn: Layout): string {
  return drawn.edges
    .map((edge, index) => {
      const kind = graph.edges.find(({ id }) => id === edge.id)!.kind;
      const { x, y, dx, dy } = edge.arrow;
      const point = (along: number, across: number): string =>
        `${x - along * dx - across * dy} ${y - along * dy + across * dx}`;
      const label = edge.label;
      const words = kind === "skip" ? "cat(1)" : "mul";
      const at =
        label && `x="${label.x}" y="${label.placement === "on" ? label.y + 4 : label.y}" text-anchor="${label.anchor}"`;
      const mask =
        label?.placement === "on"
          ? `<rect class="halo" x="${label.x - 24}" y="${label.y - 6}" width="48" height="12"/>`
          : "";
      return `<g class="${kind}" data-edge="${index}"><path class="line" d="${edge.path}" stroke-dashoffset="${edge.dash}"/><path class="head" d="M${x} ${y}L${point(6.5, 3)}L${point(6.5, -3)}z"/>${
        label ? `${mask}<text ${at}>${words}</text>` : ""
      }</g>`;
    })
    .join("");
}

function svg(graph: LayoutGraph, drawn: Layout): string {
  const groups = drawn.groups.map(({ id, x, y, width, height, header }) => {
    const name = `<clipPath id="c${x}${y}${width}"><rect x="${header.x}" y="${header.y}" width="${header.width}" height="${header.height}"/></clipPath><text clip-path="url(#c${x}${y}${width})" class="name" x="${header.x}" y="${header.y + 14}">${xml(id)}</text>`;
    return `<rect class="group" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/>${name}`;
  });
  const cards = drawn.cards.map(
    ({ id, x, y, width, height, port }) =>
      `<rect class="card" x="${x}" y="${y}" width="${width}" height="${height}" rx="5"/><rect class="picture" x="${x + 7}" y="${port.y - 35}" width="70" height="70"/><text class="name" x="${x + 7}" y="${y + 15}">${xml(id.slice(0, 15))}</text>`,
  );
  const { width, height, scale } = drawn;
  return `<svg viewBox="0 0 ${width} ${height}" width="${width * scale}" height="${height * scale}">${groups.join("")}${edges(graph, drawn)}${cards.join("")}</svg>`;
}

const style = `body{font:13px system-ui;margin:16px;background:#e8eaee}section{margin:0 0 24px}h2{font-size:14px;margin:0 0 6px}.canvas{background:#fff;border:1px solid #c9ced7;border-radius:6px;box-sizing:content-box;display:inline-block;vertical-align:top;margin-right:12px}
svg{display:block;margin:auto}.card{fill:#f6f7f9;stroke:#d9dde4}.picture{fill:#fde0b8;stroke:#c9ced7}.group{fill:#eef1f6;stroke:#aeb6c4}.line{fill:none}.halo{fill:#fff}
.main .line{stroke:#4a5464;stroke-width:1.5}.skip .line{stroke:#7b3cc4;stroke-width:1.75;stroke-dasharray:7 3}.merge .line{stroke:#00756b;stroke-width:2;stroke-dasharray:2 2.5}
.main .head{fill:#4a5464}.skip .head,.skip text{fill:#7b3cc4}.merge .head,.merge text{fill:#00756b}text{font:11px monospace;fill:#1a212d}.name{font-weight:600}`;

const sections = Object.entries(FIXTURES).map(([name, make]) => {
  const graph = make();
  const canvases = WIDTHS.map((width) => {
    const drawn = layout(graph, { width, card: "auto" });
    const caption = `${width}: ${drawn.mode}, ${drawn.size}, ${Math.round(drawn.scale * 100)} %, ${Math.round(drawn.width)} × ${Math.round(drawn.height)}`;
    return `<div><div>${caption}</div><div class="canvas" style="width:${width}px">${svg(graph, drawn)}</div></div>`;
  });
  return `<section id="${name.replaceAll(/\W+/g, "-")}"><h2>${xml(name)}</h2><div style="display:flex">${canvases.join("")}</div></section>`;
});

console.log(`<!doctype html><meta charset="utf-8"><title>Layouts</title><style>${style}</style>${sections.join("\n")}`);
