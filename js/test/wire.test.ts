import { describe, expect, it } from "vitest";
import { VERSION } from "../src/protocol";
import type { TileDtype, TileInfo } from "../src/protocol";
import { graphFromWire, int32sOf, overviewFromWire, tileKey, tilesFromWire, tileValues, WireError } from "../src/wire";

const bytes = (...values: number[]): DataView => new DataView(Uint8Array.from(values).buffer);
const empty = { version: VERSION, stages: [], edges: [], groups: [], notes: [] };
const stage = (id: string) => ({ id });

function overview(picture: Record<string, unknown>, more: Record<string, unknown> = {}): unknown {
  const summary = {
    leaf: "",
    shape: [1, 2, 2, 2],
    dtype: "float32",
    axes: [],
    picture,
    scale: [0, 1],
    reference: null,
    statistics: null,
    ranking: null,
  };
  return { version: VERSION, frame: 0, sample: 0, reference: null, stages: { a: [{ ...summary, ...more }] } };
}

const maps = { kind: "maps", channels: [0, 1], rows: 2, columns: 2, size: [2, 2], pooled: false, low: 0, high: 1 };
const firstOf = (raw: unknown) => overviewFromWire(raw)!.stages.a![0]!;

describe("graph", () => {
  it("is nothing while the kernel has sent nothing", () => {
    expect(graphFromWire({})).toBeNull();
    expect(graphFromWire(undefined)).toBeNull();
  });

  it("of another version is refused in words", () => {
    expect(() => graphFromWire({ ...empty, version: VERSION + 1 })).toThrow(/version 2.*reads 1/);
  });

  it("with an edge to nowhere, or two stages of one id, is refused", () => {
    const edges = [{ id: "a->b", source: "a", target: "b" }];
    expect(() => graphFromWire({ ...empty, stages: [stage("a")], edges })).toThrow(WireError);
    expect(() => graphFromWire({ ...empty, stages: [stage("a"), stage("a")] })).toThrow(/share an id/);
    expect(graphFromWire({ ...empty, stages: [stage("a"), stage("b")], edges })?.edges).toHaveLength(1);
  });
});

describe("overview", () => {
  it("keeps a picture whose bytes have the size that it claims", () => {
    expect(firstOf(overview({ ...maps, codes: bytes(1, 2, 3, 4, 5, 6, 7, 8) })).picture.kind).toBe("maps");
  });

  it.each([
    ["too few bytes", { ...maps, codes: bytes(1, 2, 3) }],
    ["no bytes", { ...maps, codes: "AQID" }],
    ["a size that is no size", { ...maps, rows: -2, codes: bytes() }],
    ["an unlimited size", { ...maps, rows: 1e9, codes: bytes() }],
    ["a range without end", { ...maps, high: Number.POSITIVE_INFINITY, codes: bytes(1, 2, 3, 4, 5, 6, 7, 8) }],
    ["a kind from the future", { kind: "hologram" }],
    ["maps of tokens that are cut", tokens(bytes(1))],
  ])("replaces a picture with %s by the reason, and keeps the rest", (_, picture) => {
    const { picture: shown, shape } = firstOf(overview(picture));
    expect(shown.kind).toBe("nothing");
    expect(shown.kind === "nothing" && shown.reason).toMatch(/^unreadable: /);
    expect(shape).toEqual([1, 2, 2, 2]);
  });

  it("replaces a picture with a ranking of broken numbers", () => {
    const ranking = { measure: "structure", order: bytes(1, 2, 3), count: 1, dead: 0, saturated: 0 };
    expect(firstOf(overview({ kind: "scalar", value: 1, text: "" }, { ranking })).picture.kind).toBe("nothing");
  });

  it("cannot be tricked by a stage named like a property of every object", () => {
    const raw = JSON.parse(`{"version": ${VERSION}, "stages": {"__proto__": []}}`);
    expect(Object.keys(overviewFromWire(raw)!.stages)).toEqual(["__proto__"]);
  });
});

function tokens(codes: DataView): Record<string, unknown> {
  const grid = {
    rows: 1,
    columns: 1,
    size: [1, 1],
    pooled: false,
    grid: [1, 1],
    special: 0,
    labels: [],
    low: 0,
    high: 1,
  };
  return {
    kind: "tokens",
    ...grid,
    codes: bytes(1),
    maps: { channels: [0, 1], rows: 1, columns: 1, low: 0, high: 1, codes },
  };
}

const tile = (dtype: TileDtype, data: DataView, columns: number): TileInfo => ({
  key: "k",
  rows: 1,
  columns,
  dtype,
  low: null,
  high: null,
  mean: null,
  exact: true,
  error: "",
  data,
});

describe("tiles", () => {
  it("of a size that their bytes contradict are refused", () => {
    expect(() => tilesFromWire({ seq: 1, tiles: [tile("float32", bytes(0, 0, 0, 0), 2)] })).toThrow(/4 bytes where 8/);
  });

  it("that failed need no bytes", () => {
    const failed = { ...tile("float32", bytes(), 4), error: "out of memory" };
    expect(tilesFromWire({ seq: 1, tiles: [failed] })?.tiles[0]?.error).toBe("out of memory");
  });

  it("of half precision give their exact values", () => {
    // 1, −2, the smallest number, the largest, infinity, NaN
    const halves = [0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x7e00];
    const data = bytes(...halves.flatMap((half) => [half & 255, half >> 8]));
    expect([...tileValues(tile("float16", data, 6))]).toEqual([1, -2, 2 ** -24, 65504, Infinity, NaN]);
  });

  it("are read at any offset and in little endian", () => {
    const whole = new Uint8Array(9);
    new DataView(whole.buffer).setFloat64(1, Math.PI, true);
    expect([...tileValues(tile("float64", new DataView(whole.buffer, 1, 8), 1))]).toEqual([Math.PI]);
    const numbers = new DataView(new ArrayBuffer(9), 1);
    numbers.setInt32(0, -7, true);
    numbers.setInt32(4, 2 ** 31 - 1, true);
    expect([...int32sOf(numbers)]).toEqual([-7, 2 ** 31 - 1]);
    expect([...tileValues(tile("int32", numbers, 2))]).toEqual([-7, 2 ** 31 - 1]);
    expect([...tileValues(tile("uint8", bytes(0, 200), 2))]).toEqual([0, 200]);
  });
});

it("names tiles the same way on both sides, whatever is in a name", () => {
  const request = {
    frame: 2,
    reference: null,
    sample: 0,
    stage: 'a"/b',
    leaf: "x.0",
    channel: 3,
    slice: null,
    region: null,
    size: [8, 9],
  } as const;
  expect(tileKey("t", request)).toBe('["t",2,0,"a\\"/b","x.0",3,null,null,[8,9]]');
  expect(tileKey("t", { ...request, reference: 5 })).toBe('["t",[2,5],0,"a\\"/b","x.0",3,null,null,[8,9]]');
});
