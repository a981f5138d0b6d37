/** The messages that the Python tests pin, read by the front end. */
import { describe, expect, it } from "vitest";
import graph from "../../tests/contract/graph.json";
import options from "../../tests/contract/options.json";
import overview from "../../tests/contract/overview.json";
import status from "../../tests/contract/status.json";
import tiles from "../../tests/contract/tiles.json";
import thumbnails from "../../tests/contract/thumbnails.json";
import wanted from "../../tests/contract/wanted.json";
import { decodeCodes } from "../src/colour";
import type { Summary } from "../src/protocol";
import * as wire from "../src/wire";

/** A contract file's message, with its bytes as they arrive. */
function message(file: { readonly message: unknown }): unknown {
  const decode = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(decode);
    if (typeof value !== "object" || value === null) return value;
    const fields = value as Record<string, unknown>;
    if (typeof fields.base64 === "string")
      return new DataView(Uint8Array.from(atob(fields.base64), (char) => char.charCodeAt(0)).buffer);
    return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, decode(field)]));
  };
  return decode(file.message);
}

const summaries: readonly Summary[] = Object.values(wire.overviewFromWire(message(overview))!.stages).flat();
const pictured = <K extends Summary["picture"]["kind"]>(kind: K): Extract<Summary["picture"], { kind: K }> => {
  const found = summaries.map(({ picture }) => picture).find((picture) => picture.kind === kind);
  return found as Extract<Summary["picture"], { kind: K }>;
};

it("reads the graph", () => {
  const read = wire.graphFromWire(message(graph))!;
  expect(read.stages.length).toBeGreaterThan(0);
  expect(new Set(read.edges.map(({ kind }) => kind))).toEqual(new Set(["main", "skip", "merge"]));
  expect(read.failure?.type).toBeTruthy();
});

describe("the overview", () => {
  it("holds every kind of picture, and none that cannot be read", () => {
    const kinds = new Set(summaries.map(({ picture }) => picture.kind));
    expect([...kinds].sort()).toEqual([
      "boxes",
      "classes",
      "maps",
      "mask",
      "nothing",
      "photo",
      "scalar",
      "tokens",
      "vector",
      "volume",
    ]);
    for (const { picture } of summaries)
      if (picture.kind === "nothing") expect(picture.reason).not.toMatch(/unreadable/);
  });

  it("gives back the values that the kernel had", () => {
    const { codes, low, high } = pictured("maps");
    const values = [...decodeCodes(wire.bytesOf(codes), low, high)];
    expect(values.filter(Number.isNaN)).toHaveLength([...wire.bytesOf(codes)].filter((code) => code === 255).length);
    for (const value of values.filter(Number.isFinite)) expect(Math.abs(value)).toBeLessThanOrEqual(high);
  });

  it("ranks channels with int32", () => {
    const ranked = summaries.filter(({ ranking }) => ranking !== null);
    expect(ranked.length).toBeGreaterThan(0);
    for (const { ranking } of ranked)
      expect([...wire.int32sOf(ranking!.order)].sort((a, b) => a - b)).toEqual(
        Array.from({ length: ranking!.count }, (_, i) => i),
      );
  });
});

it("reads tiles of every dtype, with the values that they were made from", () => {
  const read = wire.tilesFromWire(message(tiles))!;
  const valuesOf = (dtype: string): number[] => {
    const tile = read.tiles.find((each) => each.dtype === dtype && each.error === "")!;
    return [...wire.tileValues(tile)];
  };
  const floats = [1.5, -0.25, Number.NaN, 65504, Number.POSITIVE_INFINITY, 0];
  for (const dtype of ["float16", "float32", "float64"]) expect(valuesOf(dtype)).toEqual(floats);
  expect(valuesOf("int32")).toEqual([-(2 ** 31), 7]);
  expect(valuesOf("uint8").length).toBeGreaterThan(0);
  expect(read.tiles.some(({ error }) => error !== "")).toBe(true);
});

it("reads which pictures are differences, and their colours", () => {
  const [difference] = summaries.filter(({ reference }) => reference !== null);
  expect(difference).toMatchObject({ reference: 7, scale: [-4, 4], picture: { low: -4, high: 4 } });
});

it("reads thumbnails, and refuses those whose bytes are missing", () => {
  const read = wire.thumbnailsFromWire(message(thumbnails));
  expect(Object.keys(read.frames)).toEqual(["0", "12"]);
  expect(read.frames[12]).toMatchObject({ kind: "photo", rows: 33, columns: 2 });
  const cut = { sample: 0, frames: { 3: { ...read.frames[12], rows: 40 } } };
  expect(() => wire.thumbnailsFromWire(cut)).toThrow(wire.WireError);
});

it("reads status, options and wanted", () => {
  expect(wire.statusFromWire(message(status))).toEqual(message(status));
  expect(wire.optionsFromWire(message(options))).toEqual(message(options));
  expect(wire.optionsFromWire({})).toEqual(message(options));
  expect(wire.wantedFromWire(message(wanted))).toEqual(message(wanted));
});
