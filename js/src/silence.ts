/** How long the kernel has owed an answer, and what that means. */
import { type ReadonlySignal, signal } from "./signals";
import type { Status } from "./protocol";

export const SLOW_AFTER_MS = 700;
/** Silence after which a kernel is given up: one that never spoke, one that did, and one that said that it was busy. */
export const PATIENCE_MS = { new: 8_000, known: 32_000, busy: 120_000 } as const;
/** An idle kernel that owes tiles for so long has lost them. */
export const LOST_AFTER_MS = 2_000;
const RESENDS = 3;

/** What the host knows of the kernel: running code, or free; undefined where it does not tell. */
export type HostKernel = () => "busy" | "idle" | undefined;

export interface Silence {
  readonly slow: ReadonlySignal<boolean>;
  readonly silent: ReadonlySignal<boolean>;
  /** Something is owed: starts the clocks that are not running. */
  expect(): void;
  /** The kernel has spoken. */
  heard(state: Status["state"]): void;
  /** The kernel has answered. */
  answered(): void;
  /** Nothing is owed. */
  calm(): void;
}

type Clock = "slow" | "silent" | "lost";

/** `lost` is called when what was asked has to be asked again. */
export function silence(hostKernel: HostKernel, lost: () => void): Silence {
  const [slow, silent] = [signal(false), signal(false)];
  const clocks = new Map<Clock, ReturnType<typeof setTimeout>>();
  /** What the kernel last said; "" before it has spoken to this page. */
  let said: Status["state"] | "" = "";
  let resends = 0;
  const start = (name: Clock, after: number, ring: () => void): void => {
    if (clocks.has(name)) return;
    const timer = setTimeout(() => {
      clocks.delete(name);
      ring();
    }, after);
    clocks.set(name, timer);
  };
  const stop = (...names: readonly Clock[]): void => {
    for (const name of names) {
      clearTimeout(clocks.get(name));
      clocks.delete(name);
    }
  };
  const patience = (): number => {
    const host = hostKernel();
    if (host === "busy") return Number.POSITIVE_INFINITY;
    if (said === "busy") return PATIENCE_MS.busy;
    return host === "idle" || !said ? PATIENCE_MS.new : PATIENCE_MS.known;
  };
  const listen = (waited: number): void =>
    start("silent", PATIENCE_MS.new, () => {
      const total = waited + PATIENCE_MS.new;
      if (total >= patience()) silent.set(true);
      else listen(total);
    });
  const calm = (): void => {
    stop("slow", "silent", "lost");
    slow.set(false);
    silent.set(false);
  };
  return {
    slow,
    silent,
    expect() {
      start("slow", SLOW_AFTER_MS, () => slow.set(true));
      listen(0);
      if (said !== "idle" || resends >= RESENDS) return;
      start("lost", LOST_AFTER_MS, () => {
        resends++;
        lost();
      });
    },
    heard(state) {
      said = state;
      silent.set(false);
      stop("silent", "lost");
    },
    answered() {
      said ||= "waiting";
      resends = 0;
      calm();
    },
    calm,
  };
}
