/** The value under the crosshair in large, with its colour, and what can be said about it. */
import { colourOf, colourTable, cssColour, type Scale } from "../../colour";
import { brief, precise } from "../../format";
import { conditionOf, type Probe, type ViewContext, watch } from "../../state";
import { DECORATION, div, html, setAttributes } from "../dom";
import { live, muted, remade, terms } from "../parts";
import type { Reading } from "./reading";

export type Fact = readonly [name: string, value: string | number];

/** Of a difference: the values that it is made of. */
export const minusFacts = (minus: Probe["minus"]): Fact[] =>
  (minus?.values ?? []).map((value, i) => [i === 0 ? "here" : `frame ${minus!.frame + 1}`, precise(value)]);

export interface FactsSource {
  readonly context: ViewContext;
  readonly reading: Pick<Reading, "value" | "exact" | "failure">;
  scale(): Scale;
  facts(): readonly Fact[];
}

/** "21.7358", or "≈ 21.7" where it was read from a picture. */
const valueText = (value: number | null, exact: boolean): string =>
  value === null ? "–" : exact ? precise(value) : `≈ ${brief(value)}`;

/** What a value that is not exact waits for; "" for one that is. */
function waitingText({ context, reading: { exact, failure } }: FactsSource): string {
  if (failure()) return failure();
  const condition = exact() ? "idle" : conditionOf(context);
  if (condition === "no-kernel") return "exact values need the kernel";
  return condition === "waiting" || condition === "busy" ? "waiting for the kernel" : "";
}

export function facts(source: FactsSource, end: AbortSignal): HTMLElement {
  const { reading, context } = source;
  const { value, exact, failure } = reading;
  const number = html(
    "output.i-value",
    { "aria-live": "polite" },
    live(() => valueText(value(), exact()), end),
  );
  watch(end, () => setAttributes(number, { "data-exact": exact() && value() !== null }));
  const swatch = div("i-swatch", DECORATION);
  watch(end, () => {
    const shown = value();
    const table = colourTable(context.view.theme());
    swatch.style.background = shown === null ? "none" : cssColour(colourOf(shown, source.scale(), table));
  });
  const list = remade(html("div"), () => [terms("i-facts-list", source.facts())], end);
  const waiting = html(
    "p.i-waiting",
    { role: "status" },
    live(() => waitingText(source), end),
  );
  watch(end, () => setAttributes(waiting, { "data-failed": failure() !== "" }));
  return div("i-facts", muted("value"), number, swatch, list, waiting);
}
