import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { batch, computed, effect, type ReadonlySignal, signal, untracked } from "../src/signals";

describe("effects", () => {
  test("run at once, after changes, and not after their end", () => {
    const a = signal(1);
    const seen: number[] = [];
    const end = effect(() => {
      seen.push(a());
    });
    a.set(2);
    a.set(2);
    end();
    a.set(3);
    expect(seen).toEqual([1, 2]);
  });

  test("see both arms of a diamond changed, once", () => {
    const a = signal(1);
    const [double, square] = [computed(() => a() * 2), computed(() => a() ** 2)];
    const seen: string[] = [];
    effect(() => {
      seen.push(`${double()} ${square()}`);
    });
    a.set(3);
    expect(seen).toEqual(["2 1", "6 9"]);
  });

  test("rest while a computed value stays the same", () => {
    const a = signal(1);
    const odd = computed(() => a() % 2);
    const run = vi.fn(() => odd());
    effect(() => {
      run();
    });
    a.set(3);
    expect(run).toHaveBeenCalledTimes(1);
    a.set(4);
    expect(run).toHaveBeenCalledTimes(2);
  });

  test("follow what they read last", () => {
    const [which, a, b] = [signal(true), signal("a"), signal("b")];
    const seen: string[] = [];
    effect(() => {
      seen.push(which() ? a() : b());
    });
    which.set(false);
    a.set("unread");
    b.set("c");
    expect(seen).toEqual(["a", "b", "c"]);
  });

  test("do not follow what is peeked at or read untracked", () => {
    const [a, b] = [signal(1), signal(1)];
    const run = vi.fn();
    effect(() => {
      run(
        a.peek(),
        untracked(() => b()),
      );
    });
    a.set(2);
    b.set(2);
    expect(run).toHaveBeenCalledTimes(1);
  });

  test("clean up before the next run and at the end", () => {
    const a = signal(1);
    const cleaned: number[] = [];
    const end = effect(() => {
      const now = a();
      return () => cleaned.push(now);
    });
    a.set(2);
    end();
    expect(cleaned).toEqual([1, 2]);
  });

  test("run once for a batch, also for writes of an effect", () => {
    const [a, b, out] = [signal(1), signal(1), signal(0)];
    const seen: number[] = [];
    effect(() => {
      const sum = a() + b();
      out.set(sum);
      out.set(-sum);
    });
    effect(() => {
      seen.push(out());
    });
    batch(() => {
      a.set(2);
      b.set(2);
    });
    expect(seen).toEqual([-2, -4]);
  });

  test("may end themselves", () => {
    const a = signal(0);
    const run = vi.fn();
    const end: () => void = effect(() => {
      run();
      if (a() === 1) end();
    });
    a.set(1);
    a.set(2);
    expect(run).toHaveBeenCalledTimes(2);
  });

  test("that fail do not keep others from running, nor from running again", () => {
    const a = signal(0);
    const seen: number[] = [];
    effect(() => {
      if (a() === 1) throw new Error("one");
    });
    effect(() => {
      seen.push(a());
    });
    expect(() => {
      a.set(1);
    }).toThrow("one");
    a.set(2);
    expect(seen).toEqual([0, 1, 2]);
  });

  test("that fail at once follow nothing", () => {
    const a = signal(0);
    const run = vi.fn(() => {
      if (a() === 0) throw new Error("zero");
    });
    expect(() => effect(run)).toThrow("zero");
    a.set(1);
    expect(run).toHaveBeenCalledTimes(1);
  });

  test("that chase themselves are stopped", () => {
    const a = signal(0);
    expect(() =>
      effect(() => {
        a.set(a() + 1);
      }),
    ).toThrow("without end");
  });
});

describe("computed values", () => {
  test("are worked out when read, once per change", () => {
    const a = signal(1);
    const work = vi.fn(() => a() * 2);
    const double = computed(work);
    expect(work).not.toHaveBeenCalled();
    expect([double(), double()]).toEqual([2, 2]);
    a.set(2);
    expect(double.peek()).toBe(4);
    expect(work).toHaveBeenCalledTimes(2);
  });

  test("hold an error until a source changes", () => {
    const a = signal(0);
    const work = vi.fn(() => {
      if (a() === 0) throw new Error("zero");
      return a();
    });
    const value = computed(work);
    expect(() => value()).toThrow("zero");
    expect(() => value()).toThrow("zero");
    expect(work).toHaveBeenCalledTimes(1);
    a.set(1);
    expect(value()).toBe(1);
  });

  test("that depend on themselves say so", () => {
    const loop: ReadonlySignal<number> = computed(() => loop() + 1);
    expect(() => loop()).toThrow("itself");
  });

  test("are up to date when followed again after changes that nobody followed", () => {
    const a = signal(1);
    const double = computed(() => a() * 2);
    effect(() => {
      double();
    })();
    a.set(5);
    const seen: number[] = [];
    effect(() => {
      seen.push(double());
    });
    a.set(6);
    expect(seen).toEqual([10, 12]);
  });
});

test("whatever is written in whatever order, every effect has seen the last values", () => {
  const write = fc.record({ at: fc.nat(3), value: fc.nat(4) });
  fc.assert(
    fc.property(fc.array(fc.array(write, { maxLength: 3 }), { maxLength: 12 }), fc.nat(3), (batches, arm) => {
      const sources = [signal(0), signal(1), signal(2), signal(3)];
      const pick = computed(() => sources[sources[arm]!() % 4]!());
      const sum = computed(() => sources[0]!() + pick());
      const both = computed(() => (sum() > 3 ? sum() : pick()));
      let seen = -1;
      const end = effect(() => {
        seen = both();
      });
      const now = (): number => {
        const values = sources.map((source) => source.peek());
        const picked = values[values[arm]! % 4]!;
        return values[0]! + picked > 3 ? values[0]! + picked : picked;
      };
      for (const writes of batches) {
        batch(() => {
          for (const { at, value } of writes) sources[at]!.set(value);
        });
        expect(seen).toBe(now());
      }
      end();
    }),
    { seed: 7 },
  );
});
