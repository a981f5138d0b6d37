/** Attention weights of one head: queries × keys, and where the chosen query looks. */
import { brief } from "../../format";
import { computed, signal } from "../../state";
import type { Child } from "../dom";
import { arcs, MOST_KEYS } from "./arcs";
import { closeUp } from "./closeup";
import type { Fact } from "./facts";
import { columnLabels, LABEL_HEIGHT, rowLabels } from "./labels";
import { channelOf, type MapsSource, ORIGIN, partText } from "./maps";
import { boxOf } from "./plate";
import type { Reading } from "./reading";
import { rowThrough, type Slice, type Spot } from "./slice";
import { entropy, keyLabels } from "./weights";

const PLATE = 224;

/** The strongest key of the last query: the first queries of a causal model have nowhere to look. */
function lastQuery(slice: Slice): Spot {
  const row = slice.size[0] - 1;
  const weights = rowThrough(slice, { row, column: 0 });
  const column = weights.indexOf(Math.max(...weights));
  return { row, column: Math.floor((Math.max(0, column) * slice.size[1]) / Math.max(1, slice.columns)) };
}

function weightFacts(reading: Reading, spot: Spot, labels: readonly string[]): Fact[] {
  const named = (index: number): string => (labels[index] === undefined ? `${index}` : `${index} “${labels[index]}”`);
  const row = reading.row();
  return [
    ["query", named(spot.row)],
    ["key", named(spot.column)],
    ["entropy", row ? `${reading.exact() ? "" : "≈ "}${brief(entropy(row))} bit` : "–"],
  ];
}

export function attentionScope({ leaf, lens, picked }: MapsSource, end: AbortSignal): readonly Child[] {
  const { size } = lens;
  const spot = signal(ORIGIN);
  const labels = computed(() => keyLabels(leaf.context, leaf.stage.id, size));
  const box = boxOf(size, PLATE);
  // Names are those of the tokens when the panel is made: they come with the input, not with the frame.
  const words = labels.peek();
  const named = words.length && box[1] / words.length >= LABEL_HEIGHT;
  return closeUp(
    {
      leaf,
      size,
      box,
      spot,
      part: () => partText(lens.item, picked()),
      ask: () => ({ channel: channelOf(lens, picked()) }),
      facts: (reading) => weightFacts(reading, spot(), labels()),
      cut: () => ({ item: picked(), ...spot() }),
      find: lastQuery,
      names: ["query", "key"],
      above: named ? columnLabels(words, box[0], spot, end) : null,
      left: named ? rowLabels(words, spot, end) : null,
      below: (reading) => arcs({ reading, spot, labels, count: size[1] }, end),
      rowOnly: size[1] <= MOST_KEYS,
    },
    end,
  );
}
