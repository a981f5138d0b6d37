/** How long layouts take. `npm run -s bench:layout`: a table, and the same as JSON. Gates nothing. */

import { layout } from "../src/layout/index";
import type { LayoutGraph } from "../src/layout/types";
import { openBlocks, residualNet, star, transformer } from "../test/layout/branched";
import { chain, uNet } from "../test/layout/straight";

const CASES: Readonly<Record<string, LayoutGraph>> = {
  "chain, 60": chain(60),
  "residual net, 60": residualNet(28),
  "open transformer, 60": transformer(14),
  "open blocks, 53": openBlocks(),
  "U-Net, 9": uNet(3),
  "star, 60": star(56),
  "chain, 1000": chain(1000),
  "residual net, 1000": residualNet(498),
  "open transformer, 200": transformer(49),
  "star, 1000": star(996),
};
const RUNS = 25;

/** The fastest run: other work on the machine only ever adds. */
function fastest(graph: LayoutGraph, width: number): number {
  const times = Array.from({ length: RUNS }, () => {
    const start = performance.now();
    layout(graph, { width, card: "auto" });
    return performance.now() - start;
  });
  return Math.min(...times);
}

const rows = Object.entries(CASES).map(([name, graph]) => {
  const [wide, narrow] = [fastest(graph, 1200), fastest(graph, 400)];
  return { name, stages: graph.stages.length, edges: graph.edges.length, wide_ms: wide, narrow_ms: narrow };
});
for (const { name, stages, edges, wide_ms, narrow_ms } of rows) {
  const counts = `${stages} stages ${edges} edges`.padEnd(26);
  console.log(`${name.padEnd(24)}${counts}${wide_ms.toFixed(1).padStart(8)} ms${narrow_ms.toFixed(1).padStart(8)} ms`);
}
console.log(JSON.stringify(rows));
