import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { layout } from "../../src/layout/index";
import type { LayoutGraph } from "../../src/layout/types";
import { faults } from "./checks";
import { FIXTURES } from "./fixtures";
import { randomGraph, randomU } from "./random";

const WIDTHS = [340, 560, 760, 1200, 1900];

describe.each(Object.entries(FIXTURES))("%s", (_, make) => {
  it.each(WIDTHS)("is sound at %i px", (width) => {
    const graph = make();
    const drawn = layout(graph, { width, card: "auto" });
    expect(drawn.cards.map(({ id }) => id).sort()).toEqual(graph.stages.map(({ id }) => id).sort());
    expect(faults(graph, drawn)).toEqual([]);
    expect(drawn.width * drawn.scale).toBeLessThanOrEqual(width + 1e-6);
  });

  it("does not depend on the order in which the message lists things", () => {
    const graph = make();
    const shuffled: LayoutGraph = { ...graph, stages: graph.stages.slice().reverse() };
    const options = { width: 760, card: "auto" } as const;
    expect(layout(shuffled, options)).toEqual(layout(graph, options));
  });
});

describe("any graph", () => {
  it("is laid out soundly, and the same way twice", () => {
    fc.assert(
      fc.property(
        randomGraph,
        fc.constantFrom(...WIDTHS),
        fc.constantFrom("small", "large", "auto"),
        (graph, width, card) => {
          const drawn = layout(graph, { width, card });
          expect(faults(graph, drawn)).toEqual([]);
          expect(layout(graph, { width, card })).toEqual(drawn);
        },
      ),
      { seed: 7, numRuns: 300 },
    );
  });

  it("that goes down and up again is laid out soundly", () => {
    const modes = new Set<string>();
    fc.assert(
      fc.property(randomU, fc.constantFrom(...WIDTHS), (graph, width) => {
        const drawn = layout(graph, { width, card: "auto" });
        modes.add(drawn.mode);
        expect(faults(graph, drawn)).toEqual([]);
      }),
      { seed: 7, numRuns: 200 },
    );
    expect(modes).toContain("u");
  });
});
