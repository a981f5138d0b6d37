import { describe, expect, it } from "vitest";
import { layout } from "../../src/layout/index";
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
import { at, card, edge, rowSizes } from "./look";

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
