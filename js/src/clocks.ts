/** Named timers, each at most once. */
export class Clocks {
  readonly #running = new Map<string, ReturnType<typeof setTimeout>>();

  start(name: string, after: number, ring: () => void): void {
    if (this.#running.has(name)) return;
    const timer = setTimeout(() => {
      this.#running.delete(name);
      ring();
    }, after);
    this.#running.set(name, timer);
  }

  stop(name: string): void {
    clearTimeout(this.#running.get(name));
    this.#running.delete(name);
  }
}
