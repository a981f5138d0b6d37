import { describe, expect, test } from "vitest";
import graph from "../../tests/contract/graph.json";
import options from "../../tests/contract/options.json";
import overview from "../../tests/contract/overview.json";
import status from "../../tests/contract/status.json";
import tiles from "../../tests/contract/tiles.json";
import wanted from "../../tests/contract/wanted.json";
import { decodeCodes } from "../src/colour";
import type { Codes, Picture, Summary } from "../src/protocol";
import {
  bytesOf,
  graphFromWire,
  int32sOf,
  overviewFromWire,
  statusFromWire,
  tilesFromWire,
  tileValues,
} from "../src/wire";
import { optionsFromWire, wantedFromWire } from "../src/wire";

/** Messages that the kernel's tests write; bytes are `{"base64": text}` in the files. */
const CONTRACTS: Readonly<Record<string, { readonly message: unknown }>> = {
  graph,
  options,
  overview,
  status,
  tiles,
  wanted,
};

/** As ipywidgets hands it over: bytes in a DataView. */
function received(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(received);
  if (typeof value !== "object" || value === null) return value;
  if ("base64" in value) {
    const bytes = Uint8Array.from(atob(value.base64 as string), (character) => character.charCodeAt(0));
    return new DataView(bytes.buffer);
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, received(item)]));
}

const message = (trait: string): unknown => received(CONTRACTS[trait]?.message);

const GUARDS: Readonly<Record<string, (raw: unknown) => unknown>> = {
  graph: graphFromWire,
  overview: overviewFromWire,
  tiles: tilesFromWire,
  wanted: wantedFromWire,
  status: statusFromWire,
  options: optionsFromWire,
};

describe("messages of the kernel", () => {
  test.each(Object.keys(CONTRACTS))("%s passes its guard unchanged", (trait) => {
    const raw = message(trait);
    expect(GUARDS[trait]?.(raw)).toEqual(raw);
  });

  const summaries = (stage: string): readonly Summary[] => overviewFromWire(message("overview"))?.stages[stage] ?? [];
  const picture = <K extends Picture["kind"]>(stage: string, kind: K): Extract<Picture, { kind: K }> => {
    const found = summaries(stage).find((summary) => summary.picture.kind === kind)?.picture;
    if (found?.kind !== kind) throw new Error(`no ${kind} in ${stage}`);
    return found as Extract<Picture, { kind: K }>;
  };
  const values = (codes: Codes): readonly number[] => [...decodeCodes(bytesOf(codes.codes), codes.low, codes.high)];

  test("every kind of picture is among them", () => {
    const stages = Object.values(overviewFromWire(message("overview"))?.stages ?? {});
    const kinds = new Set(stages.flat().map((summary) => summary.picture.kind));
    expect([...kinds].sort()).toEqual(["classes", "maps", "nothing", "photo", "scalar", "tokens", "vector", "volume"]);
  });

  test("codes give back what they stand for, clipped to the range of the stage", () => {
    const found = values(picture("enc", "maps"));
    const expected = [-2.5, 0, 1.25, 2.5, Number.NaN, Number.NaN, 2.5, -2.5];
    expect(found).toHaveLength(expected.length);
    for (const [i, value] of found.entries()) {
      if (Number.isNaN(expected[i])) expect(value).toBeNaN();
      else expect(Math.abs(value - (expected[i] ?? Number.NaN))).toBeLessThanOrEqual(5 / 254 / 2 + 1e-6);
    }
    expect(values(picture("enc", "vector"))).toEqual([0, 2, 4]);
  });

  test("tokens bring maps over their grid, volumes one plane for each axis", () => {
    const tokens = picture("block", "tokens");
    expect(tokens.maps === null ? [] : values(tokens.maps).map((value) => Math.round(value))).toEqual([0, 1, 2, 4]);
    const volume = picture("volume", "volume");
    expect(volume.planes.map((plane) => plane.axis)).toEqual([0, 1, 2]);
  });

  test("ranked channels arrive as integers", () => {
    const ranking = summaries("enc")[0]?.ranking;
    expect(ranking ? [...int32sOf(ranking.order)] : []).toEqual([2, 0, 1]);
  });

  test("tiles of every dtype hold their exact values", () => {
    const found = tilesFromWire(message("tiles"))?.tiles ?? [];
    const read = (name: string): readonly number[] => {
      const tile = found.find((candidate) => candidate.key === `key-${name}`);
      return tile ? [...tileValues(tile)] : [];
    };
    const floats = [1.5, -0.25, Number.NaN, 65504, Number.POSITIVE_INFINITY, 0];
    for (const name of ["float16", "float32", "float64"]) expect(read(name)).toEqual(floats);
    expect(read("int32")).toEqual([-(2 ** 31), 7]);
    expect(read("uint8")).toEqual([0, 255]);
    expect(found.at(-1)?.error).toBe("There is no channel 5: there are 5.");
  });
});
