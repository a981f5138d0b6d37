import { describe, expect, it } from "vitest";
import { CARDS, layout } from "../../src/layout/index";
import type { Card, EdgePath, Layout, LayoutGraph, LayoutOptions } from "../../src/layout/types";
import {
  inception,
  manyHeads,
  residualNet,
  seq2seq,
  star,
  transformer,
  twoInputsTwoHeads,
  withIsolated,
} from "./branched";
import { Build } from "./build";
import { segmentsOf } from "./checks";
import { brokenUNet, chain, diffusionUNet, efficientNet, fineUNet, openUNet, uNet } from "./straight";

const at = (width: number, more: Partial<LayoutOptions> = {}): LayoutOptions => ({ width, card: "auto", ...more });

function card(drawn: Layout, id: string): Card {
  return drawn.cards.find((one) => one.id === id)!;
}

function edge(drawn: Layout, id: string): EdgePath {
  return drawn.edges.find((one) => one.id === id)!;
}

const rowSizes = (drawn: Layout): number[] => {
  const sizes: number[] = [];
  for (const { row } of drawn.cards) sizes[row] = (sizes[row] ?? 0) + 1;
  return sizes;
};

describe("a chain", () => {
  it("of twelve stages wraps into two equal rows at 760 px, at full size", () => {
    const drawn = layout(efficientNet(), at(760));
    expect(drawn).toMatchObject({ mode: "wrap", scale: 1, size: "small", width: 760, height: 410 });
    expect(rowSizes(drawn)).toEqual([6, 6]);
  });

  it("takes large cards from 1100 px on", () => {
    expect(layout(efficientNet(), at(1099)).size).toBe("small");
    const drawn = layout(efficientNet(), at(1200));
    expect(drawn).toMatchObject({ size: "large", scale: 1 });
    expect(drawn.cards[0]).toMatchObject({ width: 166, height: 234 });
  });

  it("takes more rows where there is height for them", () => {
    expect(rowSizes(layout(efficientNet(), at(758, { maxHeight: 720 })))).toEqual([4, 4, 4]);
  });

  it("runs back through the margins and the gutter between two rows", () => {
    const drawn = layout(efficientNet(), at(760));
    const [from, to] = [card(drawn, "_blocks.7"), card(drawn, "_blocks.10")];
    const { points } = edge(drawn, "_blocks.7->_blocks.10");
    const gutter = (from.y + from.height + to.y) / 2;
    expect(points).toEqual([
      { x: from.port.right, y: from.port.y },
      { x: 753, y: from.port.y },
      { x: 753, y: gutter },
      { x: 7, y: gutter },
      { x: 7, y: to.port.y },
      { x: to.port.left, y: to.port.y },
    ]);
  });

  it("never ends in a row of one", () => {
    for (let count = 3; count < 40; count++) {
      const sizes = rowSizes(layout(chain(count), at(760)));
      if (sizes.length > 1) expect(sizes.at(-1), `${count} stages`).toBeGreaterThan(1);
    }
  });

  it("goes down in one column under 520 px", () => {
    expect(layout(efficientNet(), at(520)).mode).toBe("wrap");
    const drawn = layout(efficientNet(), at(519));
    expect(drawn.mode).toBe("column");
    expect(new Set(drawn.cards.map(({ x }) => x)).size).toBe(1);
    for (const { points } of drawn.edges) expect(points).toHaveLength(2);
  });

  it("pans rather than shrink cards below their far tile", () => {
    const drawn = layout(chain(1000), at(760));
    expect(drawn.scale * CARDS.small.width).toBeGreaterThan(22);
    expect(drawn.scale * drawn.height).toBeGreaterThan(640);
  });

  it("moves no row when a stage is added at its end", () => {
    const options = at(1000);
    const [before, after] = [layout(chain(5), options), layout(chain(6), options)];
    for (const { id, row, y } of before.cards.slice(0, -1)) expect(card(after, id)).toMatchObject({ row, y });
  });
});

describe("branches", () => {
  const drawn = layout(twoInputsTwoHeads(), at(760));
  const row = (id: string): number => card(drawn, id).row;

  it("leave the trunk straight on the top lane", () => {
    const trunk = ["input:image", "stem", "enc", "fuse", "seg", "output:mask"];
    expect(trunk.map(row)).toEqual([0, 0, 0, 0, 0, 0]);
    trunk.slice(1).forEach((id, index) => {
      expect(edge(drawn, `${trunk[index]}->${id}`).points).toHaveLength(2);
    });
  });

  it("share one lane where they do not meet, in the columns of the trunk", () => {
    expect(["input:query", "query", "cls", "output:shape"].map(row)).toEqual([1, 1, 1, 1]);
    expect(card(drawn, "cls").x).toBe(card(drawn, "seg").x);
    expect(card(drawn, "query").x).toBe(card(drawn, "stem").x);
  });

  it("fork in the gap and drop to their lane", () => {
    const [fuse, cls] = [card(drawn, "fuse"), card(drawn, "cls")];
    const { points } = edge(drawn, "fuse->cls");
    expect(points).toHaveLength(4);
    expect(points[0]).toEqual({ x: fuse.port.right, y: fuse.port.y });
    expect(points[1]!.x).toBe(points[2]!.x);
    expect(points[3]).toEqual({ x: cls.port.left, y: cls.port.y });
  });

  it("merge along their lane and from below, with room for the op", () => {
    const { points, arrow, label } = edge(drawn, "query->fuse");
    expect(points).toHaveLength(3);
    expect(points[1]).toEqual({ x: points[2]!.x, y: card(drawn, "query").port.y });
    expect(arrow).toMatchObject({ dx: 0, dy: -1, y: card(drawn, "fuse").y + card(drawn, "fuse").height });
    expect(label).toMatchObject({ anchor: "start", placement: "above" });
  });

  it("join in one line, whose dashes coincide at the end", () => {
    const joined = layout(inception(), at(1200));
    const tips = ["b1", "b2.1", "proj"].map((last) => edge(joined, `mixed0.${last}->reduce`));
    expect(new Set(tips.map(({ points }) => points.at(-1)!.x)).size).toBe(1);
    for (const { dash } of tips) expect(dash).toBeLessThan(0);
    expect(edge(joined, "stem->mixed0.b1").dash).toBe(0);
  });

  it("are folded into a block when there are many", () => {
    const folded = layout(star(40), at(760));
    const experts = folded.cards.filter(({ id }) => id.startsWith("experts"));
    expect(Math.max(...folded.cards.map(({ row: one }) => one))).toBeLessThan(8);
    expect(new Set(experts.map(({ x }) => x)).size).toBeGreaterThan(4);
    expect(card(folded, "router").row).toBe(card(folded, "combine").row);
  });

  it("keep a head next to its output when they are folded", () => {
    const folded = layout(manyHeads(10), at(760));
    for (let head = 0; head < 10; head++) expect(edge(folded, `heads.${head}->output:${head}`).points).toHaveLength(2);
  });

  it("of an extra input start where they are first read, if the chain has room there", () => {
    const build = new Build();
    const trunk = Array.from({ length: 12 }, (_, index) => `stage${index}`);
    for (const id of trunk) build.stage(id);
    const drawnLate = layout(
      build
        .chain(...trunk)
        .stage("input:mask")
        .edge("input:mask", "stage11", "merge")
        .done(),
      at(760),
    );
    expect(card(drawnLate, "input:mask").row).toBe(card(drawnLate, "stage11").row + 1);
  });
});

describe("skips", () => {
  it("arc 20 above the cards, nested ones 12 apart, wider ones higher", () => {
    const build = new Build();
    for (const id of ["a", "b", "c", "d", "e"]) build.stage(id);
    const graph = build.chain("a", "b", "c", "d", "e").edge("b", "d", "skip").edge("a", "e", "skip").done();
    const drawn = layout(graph, at(900));
    const top = drawn.cards[0]!.y;
    const height = (id: string): number => top - Math.min(...edge(drawn, id).points.map(({ y }) => y));
    expect(height("b->d")).toBe(20);
    expect(height("a->e")).toBe(32);
    expect(edge(drawn, "a->e").label).toMatchObject({ placement: "on", anchor: "middle", y: top - 32 });
  });

  it("that follow each other lie at one height and do not touch", () => {
    const drawn = layout(residualNet(2), at(1000));
    const arcs = ["stem->layer0.add", "layer0.add->layer1.add"].map((id) => edge(drawn, id).points);
    expect(arcs[0]![1]!.y).toBe(arcs[1]![1]!.y);
    expect(arcs[0]!.at(-1)!.x).toBeLessThan(arcs[1]![0]!.x);
  });

  it("to another row run in the gutter over their target", () => {
    const drawn = layout(residualNet(8), at(760));
    const [from, to] = [card(drawn, "layer1.add"), card(drawn, "layer2.add")];
    expect(to.row).toBe(from.row + 1);
    const levels = segmentsOf(edge(drawn, "layer1.add->layer2.add").points).filter(({ a, b }) => a.y === b.y);
    expect(levels).toHaveLength(1);
    expect(levels[0]!.a.y).toBeGreaterThan(from.y + from.height);
    expect(levels[0]!.a.y).toBeLessThan(to.y);
  });

  it("of one source to many fork from one port", () => {
    const drawn = layout(seq2seq(4), at(1900));
    const starts = drawn.edges.filter(({ id }) => id.startsWith("encoder.3->decoder") && id !== "encoder.3->decoder.0");
    expect(starts).toHaveLength(3);
    expect(new Set(starts.map(({ points }) => points[0]!.x)).size).toBe(1);
  });
});

describe("the U", () => {
  it("has a row per resolution, arms that step inwards, bridges at picture height", () => {
    const drawn = layout(uNet(3), at(760));
    expect(drawn).toMatchObject({ mode: "u", size: "compact", scale: 1, width: 760 });
    expect(
      ["input", "enc1", "enc2", "enc3", "mid", "dec3", "dec2", "dec1", "output"].map((id) => card(drawn, id).row),
    ).toEqual([0, 0, 1, 2, 3, 2, 1, 0, 0]);
    expect(card(drawn, "enc2").x - card(drawn, "enc1").x).toBe(46);
    expect(card(drawn, "enc2").y - card(drawn, "enc1").y).toBe(132 + 24);
    for (const level of [1, 2, 3]) {
      const { points, label } = edge(drawn, `enc${level}->dec${level}`);
      expect(points).toEqual([
        { x: card(drawn, `enc${level}`).port.right, y: card(drawn, `enc${level}`).port.y },
        { x: card(drawn, `dec${level}`).port.left, y: card(drawn, `dec${level}`).port.y },
      ]);
      expect(label).toMatchObject({ anchor: "end", placement: "above" });
    }
    expect(edge(drawn, "enc1->enc2").arrow).toMatchObject({ dx: 0, dy: 1 });
    expect(edge(drawn, "dec2->dec1").arrow).toMatchObject({ dx: 0, dy: -1 });
  });

  it("is symmetric", () => {
    const drawn = layout(uNet(4), at(900));
    for (const [left, right] of [
      ["input", "output"],
      ["enc1", "dec1"],
      ["enc4", "dec4"],
    ] as const) {
      const [a, b] = [card(drawn, left), card(drawn, right)];
      expect(a.x).toBeCloseTo(drawn.width - b.x - b.width);
    }
  });

  it("takes several stages per level, a forward that stopped, and groups", () => {
    for (const graph of [fineUNet(), brokenUNet(), openUNet()]) expect(layout(graph, at(1200)).mode).toBe("u");
  });

  it("takes a hub that every block reads", () => {
    const drawn = layout(diffusionUNet(), at(760));
    expect(drawn.mode).toBe("u");
    expect(edge(drawn, "time_mlp->enc2").arrow.dx).toBe(1);
    expect(edge(drawn, "time_mlp->dec2").arrow.dx).toBe(-1);
    expect(edge(drawn, "time_mlp->mid").arrow.dy).toBe(-1);
  });

  const not = (graph: LayoutGraph): string => layout(graph, at(1900)).mode;
  const encoder = (skips: [string, string][], sizes: readonly number[] = [64, 32, 16, 32, 64]): LayoutGraph => {
    const build = new Build();
    sizes.forEach((size, index) => {
      build.stage(`s${index}`, [1, 8, size, size]);
    });
    build.chain(...sizes.map((_, index) => `s${index}`));
    for (const [source, target] of skips) build.edge(source, target, "skip");
    return build.done();
  };

  it("needs two skips that nest, at two resolutions, over a smaller one", () => {
    expect(
      not(
        encoder([
          ["s0", "s4"],
          ["s1", "s3"],
        ]),
      ),
    ).toBe("u");
    expect(not(encoder([["s0", "s4"]]))).not.toBe("u");
    expect(
      not(
        encoder(
          [
            ["s0", "s3"],
            ["s1", "s4"],
          ],
          [64, 64, 32, 64, 64],
        ),
      ),
    ).not.toBe("u");
    expect(
      not(
        encoder(
          [
            ["s0", "s4"],
            ["s1", "s3"],
          ],
          [32, 32, 16, 32, 32],
        ),
      ),
    ).not.toBe("u");
    expect(
      not(
        encoder(
          [
            ["s0", "s4"],
            ["s1", "s3"],
          ],
          [64, 64, 64, 64, 64],
        ),
      ),
    ).not.toBe("u");
  });

  it("is not for residual nets, transformers and branches", () => {
    for (const graph of [residualNet(3), transformer(2), twoInputsTwoHeads()]) expect(not(graph)).not.toBe("u");
  });

  it("reads resolution with the channels last as well", () => {
    const plain = uNet(3);
    const stages = plain.stages.map((stage) => {
      const [batch, channels, ...size] = stage.leaves[0]!.shape;
      return { ...stage, leaves: [{ shape: [batch!, ...size, channels! * 4] }] };
    });
    expect(not({ ...plain, stages })).toBe("u");
  });

  it("gives way to rows where it would be too small", () => {
    expect(layout(uNet(9), at(560)).mode).toBe("wrap");
  });
});

describe("groups", () => {
  it("are not broken over rows when there is another place to break", () => {
    const build = new Build().group("block").stage("a");
    const path = ["a"];
    for (let index = 0; index < 4; index++) {
      build.stage(`block.${index}`, [1, 8], "block");
      path.push(`block.${index}`);
    }
    for (const id of ["b", "c", "d"]) build.stage(id);
    const drawn = layout(build.chain(...path, "b", "c", "d").done(), at(600));
    expect(drawn.mode).toBe("wrap");
    expect(drawn.groups).toHaveLength(1);
  });

  it("that no row can hold have a rectangle in each row", () => {
    const build = new Build().group("all");
    const ids = Array.from({ length: 14 }, (_, index) => `stage${index}`);
    for (const id of ids) build.stage(id, [1, 8], "all");
    const drawn = layout(build.chain(...ids).done(), at(760));
    expect(drawn.groups.map(({ id }) => id)).toEqual(rowSizes(drawn).map(() => "all"));
  });

  it("leave their name clear of lines", () => {
    const drawn = layout(transformer(3), at(1200));
    for (const { header } of drawn.groups) expect(header.width).toBeGreaterThan(60);
  });
});

describe("odd graphs", () => {
  it("may be empty", () => {
    expect(layout({ stages: [], edges: [], groups: [] }, at(760)).cards).toEqual([]);
  });

  it("put stages without edges on rows of their own, below", () => {
    const drawn = layout(withIsolated(), at(760));
    expect(["unused", "spare"].map((id) => card(drawn, id).row)).toEqual([1, 1]);
    expect(drawn.mode).toBe("row");
  });

  it("may have only stages without edges", () => {
    const build = new Build();
    for (let index = 0; index < 9; index++) build.stage(`stage${index}`);
    const drawn = layout(build.done(), at(760));
    expect(rowSizes(drawn)).toEqual([6, 3]);
  });

  it("may name stages that are not there: such edges are left out", () => {
    const graph = new Build().stage("a").stage("b").chain("a", "b").edge("a", "gone").edge("b", "b").done();
    expect(layout(graph, at(760)).edges.map(({ id }) => id)).toEqual(["a->b"]);
  });

  it("may give a stage no tensor, and a group a parent that is itself", () => {
    const stages = [{ id: "a", kind: "call" as const, leaves: [], order: 0, group: "g" }];
    const drawn = layout({ stages, edges: [], groups: [{ id: "g", parent: "g" }] }, at(760));
    expect(drawn.groups.map(({ id }) => id)).toEqual(["g"]);
  });
});
