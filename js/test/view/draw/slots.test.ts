import { describe, expect, it } from "vitest";
import type { Picture, Summary } from "../../../src/protocol";
import { valueAt } from "../../../src/view/canvas";
import {
  channelOrder,
  folded,
  mapSlots,
  mapsOf,
  photoSlots,
  volumeSlots,
  wholeSlot,
} from "../../../src/view/draw/slots";

const codes = (count: number): DataView => new DataView(Uint8Array.from({ length: count }, (_, i) => i).buffer);
const order = (...channels: number[]): DataView => new DataView(Int32Array.from(channels).buffer);

function summary(picture: Picture, more: Partial<Summary> = {}): Summary {
  const axes = ["batch", "channel", "height", "width"];
  const rest = { axes, axes_kind: "image", axes_reason: "", statistics: null, histogram: null, ranking: null };
  const colours = { scale: [0, 1] as const, reference: null };
  return { leaf: "", shape: [1, 6, 4, 4], dtype: "float32", picture, ...colours, ...rest, ...more };
}

const MAPS: Picture = {
  kind: "maps",
  channels: [4, 1],
  rows: 2,
  columns: 2,
  size: [4, 4],
  pooled: true,
  low: 0,
  high: 254,
  codes: codes(8),
};
const ranking = { measure: "structure", order: order(4, 1, 5, 0, 2, 3), count: 6, dead: 0, saturated: 0 };

describe("channels", () => {
  it("come in the order of the picture, then by rank, and have values where the overview has them", () => {
    const slots = mapSlots(summary(MAPS, { ranking }), "structure", 4);
    expect(slots.map(({ channel }) => channel)).toEqual([4, 1, 5, 0]);
    expect(slots.map(({ part }) => part)[0]).toBe("channel 4");
    expect(slots.map(({ plane }) => plane && valueAt(plane, 1, 1))).toEqual([3, 7, null, null]);
    expect(slots[0]!.full).toEqual([4, 4]);
  });

  it("come by index where the reader wants that", () => {
    expect(channelOrder([4, 1], summary(MAPS), "index", 3)).toEqual([0, 1, 2]);
    expect(channelOrder([4, 1], summary(MAPS), "index", 99)).toHaveLength(6);
  });

  it("of attention are heads, and their number is that of the heads", () => {
    const heads = summary(MAPS, { axes: ["batch", "head", "query", "key"], axes_kind: "attention" });
    expect(mapSlots(heads, "structure", 1)[0]!.part).toBe("head 4");
    expect(mapsOf(heads).channels).toBe(6);
  });
});

describe("slices", () => {
  it("of a volume say where they cut and how large they are", () => {
    const planes = [0, 1, 2].map((axis) => ({ axis, index: axis + 1, rows: 1, columns: 2 }));
    const size = [4, 5, 6] as const;
    const picture: Picture = {
      kind: "volume",
      channel: 3,
      planes,
      size,
      pooled: true,
      low: 0,
      high: 254,
      codes: codes(6),
    };
    const slots = volumeSlots(picture as Extract<Picture, { kind: "volume" }>);
    expect(slots.map(({ slice }) => slice)).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
    ]);
    expect(slots.map(({ full }) => full)).toEqual([
      [5, 6],
      [4, 6],
      [4, 5],
    ]);
    expect(slots.map(({ plane }) => valueAt(plane!, 0, 0))).toEqual([0, 2, 4]);
    expect(slots[2]!.part).toBe("channel 3 x=3");
  });

  it("of tokens on a patch grid skip the special ones", () => {
    const maps = { channels: [7], rows: 2, columns: 2, low: 0, high: 254, codes: codes(4) };
    const tokens: Picture = {
      kind: "tokens",
      rows: 5,
      columns: 8,
      size: [5, 8],
      pooled: false,
      grid: [2, 2],
      special: 1,
      labels: [],
      maps,
      low: 0,
      high: 254,
      codes: codes(40),
    };
    const [slot] = mapSlots(summary(tokens), "structure", 9);
    expect([slot!.part, slot!.skip, slot!.full]).toEqual(["feature 7", 1, [2, 2]]);
    expect(wholeSlot(tokens as Extract<Picture, { kind: "tokens" }>).full).toEqual([5, 8]);
  });

  it("of a grey photo are one channel, of a coloured one three", () => {
    const photo: Picture = { kind: "photo", rows: 1, columns: 1, size: [4, 4], pooled: true, codes: codes(3) };
    const slots = (channels: number) =>
      photoSlots(summary(photo, { shape: [1, channels, 4, 4] }), photo as Extract<Picture, { kind: "photo" }>);
    expect([slots(1).length, slots(3).length]).toEqual([1, 3]);
  });
});

it("folds a vector row by row, and fills the last row with the paper", () => {
  const plane = {
    kind: "values",
    rows: 1,
    columns: 5,
    exact: true,
    values: Float32Array.from([1, 2, 3, 4, 5]),
  } as const;
  const rows = folded(plane, 2, 3);
  expect([0, 1, 2, 3, 4, 5].map((i) => valueAt(rows, 0, i))).toEqual([1, 2, 3, 4, 5, 0]);
});
