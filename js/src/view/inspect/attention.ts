/** Attention weights of one head: queries × keys, and where the chosen query looks. */
import { brief } from "../../format";
import { computed, signal } from "../../state";
import type { Child } from "../dom";
import { arcs, MOST_KEYS } from "./arcs";
import { copyLine } from "./copy";
import { codedOverview } from "./detail";
import type { Fact } from "./facts";
import { columnLabels, LABEL_HEIGHT, rowLabels } from "./labels";
import { channelOf, type MapsSource, partText, PLATE } from "./maps";
import { boxOf } from "./plate";
import { expressionOf } from "./python";
import { askWhole, type Reading, read } from "./reading";
import { scope, scopeTitle, settle } from "./scope";
import { rowThrough, type Slice, type Spot } from "./slice";
import { entropy, keyLabels } from "./weights";

/** The strongest key of the last query: the first queries of a causal model have nowhere to look. */
function lastQuery(slice: Slice): Spot {
  const row = slice.size[0] - 1;
  const weights = rowThrough(slice, { row, column: 0 });
  const column = weights.indexOf(Math.max(...weights));
  return { row, column: Math.floor((Math.max(0, column) * slice.size[1]) / Math.max(1, slice.columns)) };
}

function weightFacts(reading: Reading, spot: Spot, labels: readonly string[]): Fact[] {
  const named = (index: number): string =>
    labels[index] === undefined ? String(index) : `${index} “${labels[index]}”`;
  const row = reading.row();
  const bits = row ? `${reading.exact() ? "" : "≈ "}${brief(entropy(row))} bit` : "–";
  return [
    ["query", named(spot.row)],
    ["key", named(spot.column)],
    ["entropy", bits],
  ];
}

export function attentionScope(source: MapsSource, end: AbortSignal): readonly Child[] {
  const { leaf, lens, picked, stage } = source;
  const { context, summary } = leaf;
  const spot = signal<Spot>({ row: 0, column: 0 });
  const part = computed(() => partText(lens.item, picked()));
  const ask = computed(() => askWhole(leaf, lens.size, { channel: channelOf(lens, picked()) }));
  const coded = computed(() => codedOverview(summary(), picked()));
  const reading = read({ leaf, size: lens.size, spot, ask, coded }, end);
  settle(spot, reading.slice, end, lastQuery);
  const labels = computed(() => keyLabels(context, leaf.stage, lens.size));
  const facts = computed(() => weightFacts(reading, spot(), labels()));
  const expression = computed(() => expressionOf(leaf, stage, { item: picked(), ...spot() }));
  const position = ({ row, column }: Spot): number[] => [row, column];
  const names = ["query", "key"] as const;
  const box = boxOf(lens.size, PLATE);
  // Names are those of the tokens when the panel is made: they come with the input, not with the frame.
  const words = labels.peek();
  const room = words.length > 0 && box[1] / words.length >= LABEL_HEIGHT;
  const extras = room ? { above: columnLabels(words, box[0], spot, end), left: rowLabels(words, spot, end) } : {};
  const rowOnly = lens.size[1] <= MOST_KEYS;
  return [
    scopeTitle(part, reading, end),
    scope({ leaf, reading, size: lens.size, box, spot, part, names, facts, position, extras, rowOnly }, end),
    arcs({ reading, spot, labels, count: lens.size[1] }, end),
    copyLine(expression, end),
  ];
}
