/** The value under the crosshair in large, with its colour, and what can be said about it. */
import { colourOf, colourTable, cssColour, type Scale } from "../../colour";
import { brief, precise } from "../../format";
import { computed, conditionOf, type Probe, type ReadonlySignal, type ViewContext, watch } from "../../state";
import { html, setAttributes } from "../dom";
import { live, remade, terms } from "../parts";

export type Fact = readonly [name: string, value: string];

/** Of a difference: the values that it is made of. */
export const minusFacts = (minus: Probe["minus"]): Fact[] =>
  (minus?.values ?? []).map((value, i) => [i === 0 ? "here" : `frame ${minus!.frame + 1}`, precise(value)]);

export interface FactsSource {
  readonly context: ViewContext;
  readonly value: ReadonlySignal<number | null>;
  readonly exact: ReadonlySignal<boolean>;
  readonly scale: ReadonlySignal<Scale>;
  readonly facts: ReadonlySignal<readonly Fact[]>;
  /** Why the exact value cannot come; "" where nothing is wrong. */
  readonly failure: ReadonlySignal<string>;
}

/** "21.7358", or "≈ 21.7" where it was read from a picture. */
const valueText = (value: number | null, exact: boolean): string =>
  value === null ? "–" : exact ? precise(value) : `≈ ${brief(value)}`;

/** What a value that is not exact waits for; "" for one that is. */
function waitingText({ context, exact, failure }: FactsSource): string {
  if (failure()) return failure();
  if (exact()) return "";
  switch (conditionOf(context)) {
    case "no-kernel":
      return "exact values need the kernel";
    case "waiting":
    case "busy":
      return "waiting for the kernel";
    default:
      return "";
  }
}

export function facts(source: FactsSource, end: AbortSignal): HTMLElement {
  const { value, exact, scale, context } = source;
  const number = html(
    "output.i-value",
    { "aria-live": "polite" },
    live(
      computed(() => valueText(value(), exact())),
      end,
    ),
  );
  watch(end, () => setAttributes(number, { "data-exact": exact() && value() !== null }));
  const swatch = html("div.i-swatch", { "aria-hidden": "true" });
  watch(end, () => {
    const table = colourTable(context.view.theme());
    const shown = value();
    swatch.style.background = shown === null ? "none" : cssColour(colourOf(shown, scale(), table));
  });
  const list = remade(html("div"), () => [terms("i-facts-list", source.facts())], end);
  const waiting = html(
    "p.i-waiting",
    { role: "status" },
    live(
      computed(() => waitingText(source)),
      end,
    ),
  );
  watch(end, () => setAttributes(waiting, { "data-failed": source.failure() !== "" }));
  return html("div.i-facts", html("span.i-muted", "value"), number, swatch, list, waiting);
}
