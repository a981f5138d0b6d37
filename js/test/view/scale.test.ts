import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Options, Summary } from "../../src/protocol";
import { createWidgetState, type WidgetState } from "../../src/state";
import { leafScale } from "../../src/view/scale";
import { maps, summaryOf } from "../support/activations";
import { graphOf, Kernel, stageInfo } from "../support/kernel";

const FIRST = summaryOf(maps(4, 8, 8));
/** A later frame, three times as strong, in the codes of the first. */
const LATER: Summary = { ...FIRST, statistics: { ...FIRST.statistics!, p1: -30, p99: 30, min: -90, max: 90 } };

describe("colours of a leaf", () => {
  let end: AbortController;
  beforeEach(() => {
    end = new AbortController();
  });
  afterEach(() => end.abort());

  function widgetOf(traits: Record<string, unknown>, normalisation: Options["normalisation"] = "stage"): WidgetState {
    const kernel = new Kernel(graphOf([stageInfo("a")], []), () => ({}), traits);
    kernel.put("options", { normalisation });
    return createWidgetState(kernel, end.signal);
  }
  const own = () => ({ low: -2, high: 1 });

  test("end at the 99th percentile of the only input", () => {
    expect(leafScale(widgetOf({}), LATER, own).limit).toBe(30);
  });

  test.each([{ frame_count: 3 }, { sample_count: 3 }])(
    "keep the range of the first input while scrubbing: %o",
    (many) => {
      const widget = widgetOf(many);
      const { low, high } = FIRST.picture as Extract<Summary["picture"], { kind: "maps" }>;
      expect(leafScale(widget, LATER, own)).toEqual(leafScale(widget, FIRST, own));
      expect(leafScale(widget, LATER, own).limit).toBe(Math.max(Math.abs(low), Math.abs(high)));
    },
  );

  test("obey the reader's rule before that", () => {
    expect(leafScale(widgetOf({ frame_count: 3 }, "channel"), LATER, own).limit).toBe(2);
    expect(leafScale(widgetOf({ frame_count: 3 }, [0, 5]), LATER, own).limit).toBe(5);
  });

  test("of attention go from 0 to 1", () => {
    expect(leafScale(widgetOf({}), { ...FIRST, axes_kind: "attention" }, own)).toEqual({ zero: 0, limit: 1 });
  });

  test("of differences are symmetric about zero, whatever the rule", () => {
    const difference: Summary = { ...FIRST, scale: [-3, 3], reference: 0 };
    const many = { frame_count: 3 };
    expect(leafScale(widgetOf(many), difference, own)).toEqual({ zero: 0, limit: 3 });
    expect(leafScale(widgetOf(many, [1, 5]), difference, own)).toEqual({ zero: 0, limit: 5 });
    expect(leafScale(widgetOf(many, "channel"), difference, own)).toEqual({ zero: 0, limit: 2 });
    expect(leafScale(widgetOf(many), { ...difference, axes_kind: "attention" }, own)).toEqual({ zero: 0, limit: 3 });
  });

  test("of photos and classes, which have no codes, are held too", () => {
    const picture: Summary["picture"] = { kind: "classes", entries: [], count: 3, scale: "softmax" };
    expect(leafScale(widgetOf({ frame_count: 3 }), { ...LATER, picture, scale: [0, 7] }, own).limit).toBe(7);
  });
});
