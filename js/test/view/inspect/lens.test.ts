import { describe, expect, test } from "vitest";
import type { Picture, Summary } from "../../../src/protocol";
import { lensOf } from "../../../src/view/inspect/lens";
import { activation, indexText } from "../../../src/view/inspect/python";

const NO_CODES = new DataView(new ArrayBuffer(0));
const CODED = { low: 0, high: 1, codes: NO_CODES };
const ranking = (order: readonly number[], count = order.length): NonNullable<Summary["ranking"]> => ({
  measure: "structure",
  order: new DataView(Int32Array.from(order).buffer),
  count,
  dead: 0,
  saturated: 0,
});

function summary(
  shape: readonly number[],
  axes: string,
  kind: string,
  picture: Picture,
  more: Partial<Summary> = {},
): Summary {
  return {
    leaf: "",
    shape,
    dtype: "float32",
    axes: axes.split(" "),
    axes_kind: kind,
    axes_reason: "",
    picture,
    scale: [0, 1],
    reference: null,
    statistics: null,
    histogram: null,
    ranking: null,
    ...more,
  };
}

const mapsOf = (rows: number, columns: number): Picture => ({
  kind: "maps",
  channels: [],
  rows: 0,
  columns: 0,
  size: [rows, columns],
  pooled: false,
  ...CODED,
});

describe("maps", () => {
  const image = summary([2, 4, 8, 6], "batch channel height width", "image", mapsOf(8, 6), {
    ranking: ranking([2, 0, 1, 3]),
  });

  test("are ranked, or in order of index where the reader asked for it", () => {
    expect(lensOf(image, "structure")).toMatchObject({
      form: "maps",
      item: "channel",
      count: 4,
      order: [2, 0, 1, 3],
      size: [8, 6],
    });
    expect(lensOf(image, "index").order).toEqual([0, 1, 2, 3]);
  });

  test("follow by index behind the ranks that were sent", () => {
    const wide = summary([1, 5, 2, 2], "batch channel height width", "image", mapsOf(2, 2), {
      ranking: ranking([4, 1], 5),
    });
    expect(lensOf(wide, "structure").order).toEqual([4, 1, 0, 2, 3]);
  });

  test("are indexed by sample, channel, row and column", () => {
    const lens = lensOf(image, "structure");
    expect(indexText(lens, image.shape, { sample: 1, item: 3, row: 5, column: 2 })).toBe("[1, 3, 5, 2]");
    expect(indexText(lens, image.shape, { sample: 1, item: 3 })).toBe("[1, 3]");
  });

  test("keep channels last, as Swin has them", () => {
    const last = summary([1, 8, 6, 4], "batch height width channel", "image", mapsOf(8, 6));
    const lens = lensOf(last, "structure");
    expect(lens).toMatchObject({ count: 4, size: [8, 6] });
    expect(indexText(lens, last.shape, { sample: 0, item: 3, row: 5, column: 2 })).toBe("[0, 5, 2, 3]");
    expect(indexText(lens, last.shape, { sample: 0, item: 3 })).toBe("[0, :, :, 3]");
  });

  test("of several folded dimensions are counted innermost first", () => {
    const folded = summary([1, 2, 3, 8, 6], "batch other other height width", "image", mapsOf(8, 6));
    const lens = lensOf(folded, "structure");
    expect(lens).toMatchObject({ count: 6, item: "map" });
    expect(indexText(lens, folded.shape, { sample: 0, item: 4, row: 0, column: 1 })).toBe("[0, 1, 1, 0, 1]");
  });

  test("without channels are one map", () => {
    const single = summary([1, 8, 6], "batch height width", "image", mapsOf(8, 6));
    const lens = lensOf(single, "structure");
    expect(lens).toMatchObject({ count: 1, order: [0] });
    expect(indexText(lens, single.shape, { sample: 0, item: null, row: 7, column: 5 })).toBe("[0, 7, 5]");
  });

  test("of attention have queries and keys", () => {
    const weights = summary([1, 4, 9, 9], "batch head query key", "attention", mapsOf(9, 9));
    expect(lensOf(weights, "structure")).toMatchObject({ form: "maps", attention: true, item: "head", count: 4 });
  });

  test("share a batch axis of length 1 among all samples", () => {
    const shared = summary([1, 4, 8, 6], "batch channel height width", "image", mapsOf(8, 6));
    expect(indexText(lensOf(shared, "index"), shared.shape, { sample: 5, item: 2 })).toBe("[0, 2]");
  });
});

test("a volume is cut along one axis, and the other two are its rows and columns", () => {
  const picture: Picture = { kind: "volume", channel: 0, size: [3, 4, 5], pooled: false, planes: [], ...CODED };
  const volume = summary([1, 2, 3, 4, 5], "batch channel depth height width", "volume", picture);
  const lens = lensOf(volume, "structure");
  expect(lens).toMatchObject({ form: "volume", spatial: [2, 3, 4], names: ["depth", "height", "width"], count: 2 });
  const cut = { sample: 0, item: 1, slice: [1, 2] as const, row: 0, column: 4 };
  expect(indexText(lens, volume.shape, cut)).toBe("[0, 1, 0, 2, 4]");
});

describe("tokens", () => {
  const tokens = (size: readonly [number, number], more: object = {}): Picture =>
    ({
      kind: "tokens",
      rows: 0,
      columns: 0,
      size,
      pooled: false,
      grid: null,
      special: 0,
      labels: [],
      maps: null,
      ...CODED,
      ...more,
    }) as Picture;

  test("have their features as items", () => {
    const words = summary([1, 12, 64], "batch token feature", "tokens", tokens([12, 64]));
    const lens = lensOf(words, "structure");
    expect(lens).toMatchObject({ form: "tokens", item: "feature", rowName: "token", count: 64, grid: null });
    expect(indexText(lens, words.shape, { sample: 0, item: null, row: 3, column: 7 })).toBe("[0, 3, 7]");
  });

  test("as numbers of a text are a vector, one for each token", () => {
    const ids = summary([1, 12], "batch token", "vector", tokens([12, 1], { labels: ["[CLS]"] }));
    const lens = lensOf(ids, "structure");
    expect(lens).toMatchObject({ form: "vector", length: 12 });
    expect(indexText(lens, ids.shape, { sample: 0, item: null, column: 7 })).toBe("[0, 7]");
  });

  test("of a sequence of features run over time, though it is the last axis", () => {
    const sequence = summary([1, 64, 12], "batch channel time", "sequence", tokens([12, 64]));
    const lens = lensOf(sequence, "structure");
    expect(lens).toMatchObject({ item: "channel", rowName: "time", count: 64 });
    expect(indexText(lens, sequence.shape, { sample: 0, item: null, row: 3, column: 7 })).toBe("[0, 7, 3]");
  });
});

describe("vectors", () => {
  test("with trailing axes of length 1 are indexed where the values are", () => {
    const picture: Picture = { kind: "vector", length: 4, size: 4, pooled: false, ...CODED };
    const pooled = summary([1, 4, 1, 1], "batch channel height width", "vector", picture);
    const lens = lensOf(pooled, "structure");
    expect(lens).toMatchObject({ form: "vector", length: 4 });
    expect(indexText(lens, pooled.shape, { sample: 0, item: null, column: 3 })).toBe("[0, 3, 0, 0]");
  });

  test("of classes for one token among several are not looked at: which values they are is not said", () => {
    const classes: Picture = { kind: "classes", entries: [], count: 31, scale: "softmax" };
    expect(lensOf(summary([1, 31], "batch feature", "vector", classes), "structure").form).toBe("vector");
    expect(lensOf(summary([1, 12, 31], "batch token feature", "tokens", classes), "structure").form).toBe("none");
  });
});

describe("the expression", () => {
  const leaf = { path: "state.0", shape: [1], dtype: "float32" };

  test("names the leaf where a stage gives out several", () => {
    expect(activation("dec1", "", [leaf])).toBe('flow.activation("dec1")');
    expect(activation("lstm", "state.0", [leaf, leaf])).toBe('flow.activation("lstm", "state.0")');
    expect(activation("block", "", [leaf, leaf])).toBe('flow.activation("block")');
  });

  test("names the frame, of which the first needs no name", () => {
    expect(activation("dec1", "", [leaf], 0)).toBe('flow.activation("dec1")');
    expect(activation("lstm", "state.0", [leaf, leaf], 7)).toBe('flow.activation("lstm", "state.0", frame=7)');
  });

  test("is a Python literal for any name", () => {
    expect(activation('a"b\\c\n', "", [])).toBe('flow.activation("a\\"b\\\\c\\n")');
  });
});
