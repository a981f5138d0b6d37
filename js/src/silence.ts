/** How long the kernel has owed an answer, and what that means. */
import { type ReadonlySignal, signal } from "./signals";
import { Clocks } from "./clocks";
import type { Status } from "./protocol";

export const SLOW_AFTER_MS = 700;
/** Silence after which a kernel is given up: one that never spoke, one that did, and one that said that it was busy. */
export const PATIENCE_MS = { new: 8_000, known: 32_000, busy: 120_000 } as const;
/** An idle kernel that owes tiles for so long has lost them. */
export const LOST_AFTER_MS = 2_000;
const RESENDS = 3;

/** What the host knows of the kernel: running code, or free; undefined where it does not tell. */
export type HostKernel = () => "busy" | "idle" | undefined;

export class Silence {
  readonly #slow = signal(false);
  readonly #silent = signal(false);
  readonly #clocks = new Clocks();
  readonly #host: HostKernel;
  readonly #lost: () => void;
  /** What the kernel last said; "" before it has spoken to this page. */
  #said: Status["state"] | "" = "";
  #resends = 0;

  /** `lost` is called when what was asked has to be asked again. */
  constructor(host: HostKernel, lost: () => void) {
    this.#host = host;
    this.#lost = lost;
  }

  get slow(): ReadonlySignal<boolean> {
    return this.#slow;
  }

  get silent(): ReadonlySignal<boolean> {
    return this.#silent;
  }

  /** Something is owed: starts the clocks that are not running. */
  expect(): void {
    this.#clocks.start("slow", SLOW_AFTER_MS, () => this.#slow.set(true));
    this.#listen(0);
    if (this.#said !== "idle" || this.#resends >= RESENDS) return;
    this.#clocks.start("lost", LOST_AFTER_MS, () => {
      this.#resends++;
      this.#lost();
    });
  }

  /** The kernel has spoken. */
  heard(state: Status["state"]): void {
    this.#said = state;
    this.#silent.set(false);
    this.#clocks.stop("silent");
    this.#clocks.stop("lost");
  }

  /** The kernel has answered. */
  answered(): void {
    if (!this.#said) this.#said = "waiting";
    this.#resends = 0;
    this.calm();
  }

  /** Nothing is owed. */
  calm(): void {
    for (const name of ["slow", "silent", "lost"]) this.#clocks.stop(name);
    this.#slow.set(false);
    this.#silent.set(false);
  }

  #listen(waited: number): void {
    this.#clocks.start("silent", PATIENCE_MS.new, () => {
      const total = waited + PATIENCE_MS.new;
      if (total >= this.#patience()) this.#silent.set(true);
      else this.#listen(total);
    });
  }

  #patience(): number {
    const host = this.#host();
    if (host === "busy") return Number.POSITIVE_INFINITY;
    if (this.#said === "busy") return PATIENCE_MS.busy;
    return host === "idle" || !this.#said ? PATIENCE_MS.new : PATIENCE_MS.known;
  }
}
