import { describe, expect, it } from "vitest";
import { layout } from "../../src/layout/index";
import type { LayoutGraph } from "../../src/layout/types";
import { residualNet, transformer, twoInputsTwoHeads } from "./branched";
import { Build } from "./build";
import { at, card, edge } from "./look";
import { brokenUNet, diffusionUNet, fineUNet, openUNet, uNet } from "./straight";

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
