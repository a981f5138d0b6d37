/** How a leaf can be looked at: what its grid shows, how large one picture of it is, and which axis is which. */
import { times } from "../../lists";
import type { Options, Summary } from "../../protocol";
import { int32sOf } from "../../wire";

/** Places in the leaf's shape. Where several dimensions are shown as one, all of them, outermost first. */
export interface Axes {
  /** −1 without a batch axis. */
  readonly batch: number;
  /** Channel, head or feature: what the grid ranges over. */
  readonly item: readonly number[];
  readonly row: readonly number[];
  readonly column: readonly number[];
}

interface Common {
  /** What one picture of the grid is: "channel", "head", "feature". */
  readonly item: string;
  /** How many there are. */
  readonly count: number;
  /** The items in the order in which the grid shows them. */
  readonly order: readonly number[];
  readonly axes: Axes;
}

export type MapsLens = Common & {
  readonly form: "maps";
  /** Rows and columns of each item. */
  readonly size: readonly [number, number];
  /** Weights: rows are queries, columns keys. */
  readonly attention: boolean;
};
export type VolumeLens = Common & {
  readonly form: "volume";
  /** Depth (or time), height, width. */
  readonly size: readonly [number, number, number];
  readonly spatial: readonly [number, number, number];
  /** What the three are called. */
  readonly names: readonly [string, string, string];
};
export type TokensLens = Common & {
  readonly form: "tokens";
  /** Tokens, features. */
  readonly size: readonly [number, number];
  /** What the rows are called: "token", "time". */
  readonly rowName: string;
  /** Patch grid of the tokens after the `special` leading ones. */
  readonly grid: readonly [number, number] | null;
  readonly special: number;
  readonly labels: readonly string[];
};
export type VectorLens = Common & { readonly form: "vector"; readonly length: number };
export type Lens = MapsLens | VolumeLens | TokensLens | VectorLens | (Common & { readonly form: "none" });

type Rule = Options["channel_order"];

/** The axes with these names, each found once; else the last as many that are not the batch axis. */
function tail(axes: readonly string[], names: readonly string[]): number[] {
  const found = names.map((name) => axes.indexOf(name));
  const unique = names.every((name) => axes.filter((other) => other === name).length === 1);
  if (unique) return found;
  return axes.flatMap((name, i) => (name === "batch" ? [] : [i])).slice(-names.length);
}

const others = (axes: readonly string[], taken: readonly number[]): number[] =>
  axes.flatMap((name, i) => (name === "batch" || taken.includes(i) ? [] : [i]));

/** Of so many can one be chosen: a list of them is kept. */
const MOST_ITEMS = 2 ** 20;

/** Ranked items first; the wire carries at most 4,096 ranks, so those behind them follow by index. */
function orderOf({ ranking }: Summary, count: number, rule: Rule): number[] {
  const natural = times(Math.min(count, MOST_ITEMS), (i) => i);
  if (rule === "index" || !ranking) return natural;
  const ranked = new Set(int32sOf(ranking.order).filter((index) => index >= 0 && index < count));
  return [...ranked, ...natural.filter((index) => !ranked.has(index))];
}

function itemName(axes: readonly string[], item: readonly number[]): string {
  const name = item.length ? axes[item[item.length - 1]!]! : "map";
  return name === "other" ? "map" : name;
}

/** What the grid ranges over, and which axes are the rows and columns of what it shows. */
function ranging(
  summary: Summary,
  rule: Rule,
  item: readonly number[],
  row: readonly number[] = [],
  column: readonly number[] = [],
): Common {
  const { axes, shape } = summary;
  const count = item.reduce((product, axis) => product * (shape[axis] ?? 1), 1);
  const places = { batch: axes.indexOf("batch"), item, row, column };
  return { item: itemName(axes, item), count, order: orderOf(summary, count, rule), axes: places };
}

function mapsLens(summary: Summary, size: readonly [number, number], rule: Rule): MapsLens {
  const { axes, axes_kind } = summary;
  const attention = axes_kind === "attention";
  const plane = tail(axes, attention ? ["query", "key"] : ["height", "width"]);
  const common = ranging(summary, rule, others(axes, plane), plane.slice(0, 1), plane.slice(1));
  return { form: "maps", ...common, size, attention };
}

function volumeLens(summary: Summary, size: readonly [number, number, number], rule: Rule): VolumeLens {
  const { axes } = summary;
  // Patches of a volume lie along one axis.
  const token = axes.indexOf("token");
  const spatial =
    token >= 0 ? [token, token, token] : tail(axes, [axes.includes("depth") ? "depth" : "time", "height", "width"]);
  const names = token >= 0 ? ["depth", "row", "column"] : spatial.map((place) => axes[place] ?? "other");
  return {
    form: "volume",
    ...ranging(summary, rule, others(axes, spatial)),
    size,
    spatial: spatial as unknown as readonly [number, number, number],
    names: names as unknown as readonly [string, string, string],
  };
}

/** Depth (or time), height and width of a volume that is not drawn as one. */
const sizesOf = ({ axes, shape }: Summary): readonly [number, number, number] =>
  ["depth", "height", "width"].map(
    (name) => shape[axes.indexOf(name)] ?? shape[axes.indexOf("time")] ?? 1,
  ) as unknown as readonly [number, number, number];

function tokensLens(
  summary: Summary,
  { size, grid, special, labels }: Pick<TokensLens, "size" | "grid" | "special" | "labels">,
  rule: Rule,
): TokensLens {
  const { axes } = summary;
  const column = tail(axes, [axes.includes("feature") ? "feature" : "channel"]);
  const row = others(axes, column);
  const rowName = axes[row[0] ?? -1] === "time" ? "time" : "token";
  return { form: "tokens", ...ranging(summary, rule, column, row, column), size, rowName, grid, special, labels };
}

/** Pure. What cannot be looked at closer has the form "none". */
export function lensOf(summary: Summary, rule: Rule): Lens {
  const { axes, axes_kind, picture } = summary;
  const batch = axes.indexOf("batch");
  const flat = (length: number): Lens => {
    const column = others(axes, []);
    const whole = column.reduce((product, axis) => product * (summary.shape[axis] ?? 1), 1) === length;
    const places = { batch, item: [], row: [], column };
    // Classes of one token among several: which values they are is not said.
    if (!whole) return { form: "none", item: "", count: 0, order: [], axes: places };
    return { form: "vector", item: "index", count: 0, order: [], length, axes: places };
  };
  switch (picture.kind) {
    case "maps":
    case "photo":
      return mapsLens(summary, picture.size, rule);
    case "volume":
      return volumeLens(summary, picture.size, rule);
    case "tokens":
      // Numbers of tokens: one for each, and no features.
      return picture.size[1] === 1 ? flat(picture.size[0]) : tokensLens(summary, picture, rule);
    case "mask":
      return axes_kind === "volume"
        ? volumeLens(summary, sizesOf(summary), rule)
        : mapsLens(summary, picture.size, rule);
    case "vector":
      return flat(picture.size);
    case "boxes": {
      const rest = { size: [picture.count, 4], grid: null, special: 0, labels: [] } as const;
      return axes_kind === "tokens" && picture.count > 0 ? tokensLens(summary, rest, rule) : flat(-1);
    }
    case "classes":
      return flat(picture.count);
    case "scalar":
    case "nothing":
      return flat(-1);
  }
}
