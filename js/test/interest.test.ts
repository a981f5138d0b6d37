import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createInterest, type Interest } from "../src/interest";
import type { TileInfo, TileRequest, Wanted } from "../src/protocol";
import { LOST_AFTER_MS, PATIENCE_MS, SLOW_AFTER_MS } from "../src/silence";
import { effect } from "../src/state";
import { tileKey } from "../src/wire";

const end = new AbortController();
let sent: Wanted[];
let interest: Interest;

function start(budget?: number): void {
  sent = [];
  const send = (wanted: Wanted): void => void sent.push(wanted);
  interest = createInterest({ seq: 4, send, ...(budget === undefined ? {} : { budget }) }, end.signal);
}

beforeEach(() => {
  vi.useFakeTimers();
  start();
});
afterEach(() => vi.useRealTimers());

function request(stage: string, more: Partial<TileRequest> = {}): TileRequest {
  const parts = { frame: 0, sample: 0, stage, leaf: "", channel: 0, slice: null, region: null, size: null };
  const rest = { reference: null, ...more };
  return { ...parts, ...rest, key: tileKey("t", { ...parts, ...rest }) };
}

function tile({ key }: TileRequest, columns = 2, more: Partial<TileInfo> = {}): TileInfo {
  const data = new DataView(Float32Array.from({ length: columns }, (_, i) => i + 1).buffer);
  const range = { low: 1, high: columns, mean: 1 };
  return { key, rows: 1, columns, dtype: "float32", ...range, exact: true, error: "", data, ...more };
}

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
const keys = (wanted: Wanted | undefined): string[] => (wanted?.tiles ?? []).map(({ stage }) => stage);

describe("what is sent", () => {
  it("is all claims in one message, the newest claim first, each tile once", async () => {
    interest.claim(end.signal).want([request("a"), request("b")]);
    interest.claim(end.signal).want([request("c"), request("a")]);
    await settle();
    expect(sent.map(keys)).toEqual([["c", "a", "b"]]);
    expect(sent[0]!.seq).toBe(5);
  });

  it("is never two messages at once; the second carries the interest of the moment", async () => {
    const claim = interest.claim(end.signal);
    for (const stage of ["a", "b", "c", "d"]) {
      claim.want([request(stage)]);
      await settle();
    }
    expect(sent.map(keys)).toEqual([["a"]]);
    interest.accept({ seq: 5, tiles: [tile(request("a"))] });
    expect(sent.map(keys)).toEqual([["a"], ["d"]]);
  });

  it("takes the place of what the kernel has put off until a cell is done", async () => {
    const claim = interest.claim(end.signal);
    claim.want([request("a")]);
    await settle();
    interest.heard("waiting");
    for (const stage of ["b", "c"]) {
      claim.want([request(stage)]);
      await settle();
    }
    expect(sent.map(keys)).toEqual([["a"], ["b"], ["c"]]);
    interest.heard("busy");
    claim.want([request("d")]);
    await settle();
    expect(sent).toHaveLength(3);
    interest.accept({ seq: sent[2]!.seq, tiles: [tile(request("c"))] });
    expect(sent.map(keys)[3]).toEqual(["d"]);
  });

  it("leaves out what is there already", async () => {
    const claim = interest.claim(end.signal);
    interest.accept({ seq: 4, tiles: [tile(request("a"))] });
    claim.want([request("a"), request("b")]);
    await settle();
    expect(sent.map(keys)).toEqual([["b"]]);
  });

  it("is small: the rest follows the answer", async () => {
    const all = Array.from({ length: 100 }, (_, i) => request(`s${i}`));
    interest.claim(end.signal).want(all);
    await settle();
    const first = sent[0]!.tiles.length;
    expect(first).toBeLessThan(60);
    interest.accept({ seq: 5, tiles: all.slice(0, first).map((each) => tile(each)) });
    expect(sent[1]!.tiles[0]!.stage).toBe(`s${first}`);
  });

  it("is not said again after an answer in part: the kernel still has it on its list", async () => {
    interest.claim(end.signal).want([request("a"), request("b")]);
    await settle();
    interest.accept({ seq: 5, tiles: [tile(request("a"))] });
    await settle();
    expect(sent).toHaveLength(1);
    expect([...interest.lacking()]).toEqual([request("b").key]);
  });

  it("withdraws what nobody wants any more", async () => {
    const claim = interest.claim(end.signal);
    claim.want([request("a"), request("b")]);
    await settle();
    interest.accept({ seq: 5, tiles: [tile(request("a"))] });
    claim.want([]);
    await settle();
    expect(sent.map(keys)).toEqual([["a", "b"], []]);
  });

  it("forgets a claim with the view that made it", async () => {
    const view = new AbortController();
    interest.claim(view.signal).want([request("a")]);
    interest.claim(end.signal).want([request("b")]);
    view.abort();
    await settle();
    expect(sent.map(keys)).toEqual([["b"]]);
  });

  it("goes out again after another client's message has been answered", async () => {
    interest.claim(end.signal).want([request("a")]);
    await settle();
    interest.overtaken({ seq: 6, tiles: [request("x")] });
    interest.accept({ seq: 6, tiles: [tile(request("x"))] });
    expect(sent.map(keys)).toEqual([["a"], ["a"]]);
    expect(sent[1]!.seq).toBe(7);
  });
});

describe("the kernel's silence", () => {
  it("is told after 700 ms and ends with the answer", async () => {
    interest.claim(end.signal).want([request("a")]);
    await vi.advanceTimersByTimeAsync(SLOW_AFTER_MS - 1);
    expect(interest.slow()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(interest.slow()).toBe(true);
    interest.accept({ seq: 5, tiles: [tile(request("a"))] });
    expect(interest.slow()).toBe(false);
  });

  it("ends the hope soon in a kernel that never spoke, later in one that did", async () => {
    interest.claim(end.signal).want([request("a")]);
    await vi.advanceTimersByTimeAsync(PATIENCE_MS.new - 1);
    expect(interest.silent()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(interest.silent()).toBe(true);
    interest.heard("waiting");
    expect(interest.silent()).toBe(false);
    await vi.advanceTimersByTimeAsync(PATIENCE_MS.known - 1);
    expect(interest.silent()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(interest.silent()).toBe(true);
  });

  it.each([["busy", false] as const, ["idle", true] as const])("under a host that says %s", async (kernel, silent) => {
    const quiet = createInterest({ seq: 0, send: () => {}, kernel: () => kernel }, end.signal);
    quiet.claim(end.signal).want([request("a")]);
    await vi.advanceTimersByTimeAsync(PATIENCE_MS.known);
    expect(quiet.silent()).toBe(silent);
  });

  it("is long while the kernel has said that it is busy", async () => {
    interest.claim(end.signal).want([request("a")]);
    await settle();
    interest.heard("busy");
    await vi.advanceTimersByTimeAsync(PATIENCE_MS.busy - 1);
    expect(interest.silent()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(interest.silent()).toBe(true);
  });

  it("of an idle kernel means that the message was lost: it is sent again, three times at most", async () => {
    interest.claim(end.signal).want([request("a")]);
    await settle();
    interest.heard("idle");
    await vi.advanceTimersByTimeAsync(LOST_AFTER_MS * 10);
    expect(sent.map(keys)).toEqual([["a"], ["a"], ["a"], ["a"]]);
  });

  it("after an error asks nothing again by itself, but lets other interest out", async () => {
    const claim = interest.claim(end.signal);
    claim.want([request("a")]);
    await settle();
    interest.heard("error");
    await vi.advanceTimersByTimeAsync(LOST_AFTER_MS * 10);
    expect(sent).toHaveLength(1);
    expect(interest.slow()).toBe(false);
    claim.want([request("b")]);
    await settle();
    interest.retry();
    expect(sent.map(keys)).toEqual([["a"], ["b"], ["b"]]);
  });
});

describe("the store", () => {
  it("keeps an error as an answer until retry", async () => {
    interest.claim(end.signal).want([request("a")]);
    await settle();
    interest.accept({ seq: 5, tiles: [tile(request("a"), 0, { rows: 0, error: "gone" })] });
    await settle();
    expect(interest.get(request("a").key)?.error).toBe("gone");
    expect(sent).toHaveLength(1);
    interest.retry();
    expect(sent.map(keys)).toEqual([["a"], ["a"]]);
  });

  it("drops the least recently used over its budget, but nothing that is wanted", async () => {
    start(3000);
    interest.claim(end.signal).want([request("wanted")]);
    await settle();
    const old = [request("wanted"), request("a"), request("b")];
    interest.accept({ seq: 5, tiles: old.map((each) => tile(each, 150)) });
    interest.get(request("a").key);
    interest.accept({ seq: 5, tiles: [tile(request("c"), 150)] });
    const there = [...old, request("c")].filter(({ key }) => interest.get(key) !== null).map(({ stage }) => stage);
    expect(there).toEqual(["wanted", "a", "c"]);
  });

  it("has the finest whole tile of a slice to show while waiting, and never one of another slice", () => {
    const small = request("a", { size: [1, 2] });
    const larger = request("a", { size: [1, 4] });
    const corner = request("a", { region: [0, 0, 1, 9] });
    const other = request("a", { channel: 1, size: [1, 9] });
    interest.accept({ seq: 0, tiles: [tile(small, 2), tile(larger, 4), tile(corner, 9), tile(other, 9)] });
    expect(interest.nearest(request("a"))?.key).toBe(larger.key);
    expect(interest.nearest(request("b"))).toBeNull();
    expect(interest.nearest(request("a", { frame: 1 }))).toBeNull();
  });

  it("runs effects that looked at a tile when tiles arrive", () => {
    const seen: (number | undefined)[] = [];
    const stop = effect(() => void seen.push(interest.get(request("a").key)?.values[1]));
    interest.accept({ seq: 0, tiles: [tile(request("a"))] });
    stop();
    expect(seen).toEqual([undefined, 2]);
  });
});
