/** What attention weights say: how spread a row is, and the names of what it attends to. */
import type { Values } from "../../colour";
import { ancestors, indexGraph } from "../../graph";
import { picturesOf, type ViewContext } from "../../state";

/** Entropy of weights in bits; what is not above zero adds nothing. They are brought to a sum of one. */
export function entropy(weights: Values): number {
  let sum = 0;
  for (const weight of weights) if (weight > 0) sum += weight;
  let bits = 0;
  for (const weight of weights) if (weight > 0) bits -= (weight / sum) * Math.log2(weight / sum);
  return bits;
}

/** Labels of the keys: those of the first tokens that the stage's values come from, as many as there are keys. */
export function keyLabels(
  { widget }: ViewContext,
  stage: string,
  [rows, columns]: readonly [number, number],
): readonly string[] {
  const graph = widget.graph();
  if (!graph || rows !== columns) return [];
  const before = ancestors(indexGraph(graph), stage);
  const tokens = picturesOf(widget, "tokens", ({ id }) => before.has(id));
  return tokens.find(({ labels }) => labels.length === columns)?.labels ?? [];
}
