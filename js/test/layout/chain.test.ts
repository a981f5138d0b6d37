import { describe, expect, it } from "vitest";
import { CARDS, layout } from "../../src/layout/index";
import { at, card, edge, rowSizes } from "./look";
import { chain, efficientNet } from "./straight";

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
