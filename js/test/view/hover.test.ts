import { describe, expect, it } from "vitest";
import type { Tile } from "../../src/interest";
import type { TileRequest } from "../../src/protocol";
import type { Plane } from "../../src/view/canvas";
import type { Slot } from "../../src/view/draw/slots";
import type { Placed } from "../../src/view/draw/tiles";
import { aimAt, elementAt, exactValue } from "../../src/view/hover";

const slot = (rows: number, columns: number, more: Partial<Slot> = {}): Slot => ({
  channel: 0,
  slice: null,
  full: [rows, columns],
  skip: 0,
  part: "",
  plane: null,
  ...more,
});
const placed = (of: Slot, folded = 0): Placed => ({ x: 10, y: 20, width: 40, height: 20, slot: of, folded });
const counting = (rows: number, columns: number): Plane => ({
  kind: "values",
  rows,
  columns,
  exact: false,
  values: Float32Array.from({ length: rows * columns }, (_, i) => i),
});
const tile = (rows: number, columns: number, exact = true): Tile => {
  const values = Float32Array.from({ length: rows * columns }, (_, i) => i);
  return { key: "", rows, columns, dtype: "float32", low: 0, high: 1, mean: 0, exact, error: "", values };
};
const request = (region: TileRequest["region"] = null): TileRequest => ({
  key: "",
  frame: 0,
  sample: 0,
  stage: "",
  leaf: "",
  channel: 0,
  slice: null,
  region,
  size: null,
  reference: null,
});

describe("aiming", () => {
  const picture = {
    leaf: "",
    box: { x: 7, y: 33, width: 90, height: 92 },
    placed: [placed(slot(4, 8))],
    style: null as never,
  };

  it("meets the slice under a point of the card, and nothing beside it", () => {
    expect(aimAt("s", picture, 7 + 10 + 20, 33 + 20 + 5)).toMatchObject({ stage: "s", u: 0.5, v: 0.25 });
    expect(aimAt("s", picture, 7 + 9, 33 + 25)).toBeNull();
    expect(aimAt("s", picture, 7 + 50, 33 + 25)).toBeNull();
  });
});

describe("the element", () => {
  it("is counted at full size, its rough value read where the pooled picture has it", () => {
    const aim = { stage: "s", placed: placed(slot(100, 200)), u: 0.26, v: 0.51 };
    expect(elementAt(aim, counting(2, 4))).toEqual({ row: 51, column: 52, rough: 5 });
  });

  it("of a folded vector is counted along its lines, and missing after its end", () => {
    // 10 values of 1,000 in lines of 4.
    const at = (u: number, v: number) =>
      elementAt({ stage: "s", placed: placed(slot(1, 1000), 4), u, v }, counting(1, 10));
    expect(at(0.3, 0.4)).toEqual({ row: 0, column: 550, rough: 5 });
    expect(at(0.9, 0.9)).toBeNull();
  });
});

describe("the exact value", () => {
  it("comes from a whole tile, a window, or a list of tokens with special ones in front", () => {
    expect(exactValue(tile(4, 8), request(), slot(4, 8), 2, 3)).toBe(19);
    expect(exactValue(tile(2, 4), request([2, 4, 4, 8]), slot(100, 100), 3, 5)).toBe(5);
    expect(exactValue(tile(1, 5), request(), slot(2, 2, { skip: 1 }), 1, 0)).toBe(3);
    expect(exactValue(tile(2, 2), request(), slot(2, 2, { skip: 1 }), 1, 0)).toBe(2);
  });

  it("is not made of pooled values, or of none", () => {
    expect(exactValue(tile(4, 8, false), request(), slot(4, 8), 0, 0)).toBeNull();
    expect(exactValue(null, request(), slot(4, 8), 0, 0)).toBeNull();
    expect(exactValue({ ...tile(0, 0), error: "no" }, request(), slot(4, 8), 0, 0)).toBeNull();
  });
});
