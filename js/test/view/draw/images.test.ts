// @vitest-environment happy-dom
import { describe, expect, test } from "vitest";
import { createImagePool } from "../../../src/view/draw/images";

const CELL = { x: 0, y: 0, width: 10, height: 10 };
const image = (url: string) => ({ url, exact: false, smooth: false });
const loaded = (element: Element | null | undefined) => element?.dispatchEvent(new Event("load"));

describe("an image", () => {
  const shownIn = (holder: Element): (string | null)[] => [...holder.children].map((each) => each.getAttribute("href"));

  test("stays below its successor until that can be seen", () => {
    const pool = createImagePool(new AbortController().signal);
    const holder = pool.show("a", CELL, image("one"));
    loaded(holder.firstElementChild);
    pool.show("a", CELL, image("two"));
    expect(shownIn(holder)).toEqual(["one", "two"]);
    loaded(holder.lastElementChild);
    expect(shownIn(holder)).toEqual(["two"]);
  });

  test("that loads after it was replaced does not take the newer ones away", () => {
    const pool = createImagePool(new AbortController().signal);
    const holder = pool.show("a", CELL, image("one"));
    const late = holder.firstElementChild;
    pool.show("a", CELL, image("two"));
    pool.show("a", CELL, image("three"));
    loaded(late);
    expect(shownIn(holder)).toEqual(["two", "three"]);
    loaded(holder.lastElementChild);
    expect(shownIn(holder)).toEqual(["three"]);
  });
});
