/** The wire schema: mirror of `src/nf_widget/protocol/`. The only two places that know field names. */

export const VERSION = 1;

/** Raw bytes as they arrive in a trait: ipywidgets gives a DataView. */
export type Bytes = DataView;

export type EdgeKind = "main" | "skip" | "merge";
export type Evidence = "traced" | "inferred";
export type Shape = readonly number[];

export type LeafInfo = { readonly path: string; readonly shape: Shape; readonly dtype: string };
export interface StageInfo {
  readonly id: string;
  readonly kind: "input" | "call" | "representation" | "output";
  readonly path: string;
  readonly label: string;
  /** Class of the module, or what the input or output is ("RGB image"). */
  readonly type_name: string;
  /** Short remark on the type: "3×3 /2". */
  readonly detail: string;
  readonly leaves: readonly LeafInfo[];
  readonly parameters: number;
  readonly order: number;
  /** Id of the innermost group that it is drawn in, or "". */
  readonly group: string;
  readonly expandable: boolean;
  readonly status: "ok" | "raised" | "not-run";
}

export interface GroupInfo {
  readonly id: string;
  readonly label: string;
  readonly type_name: string;
  /** Id of the enclosing group, or "". */
  readonly parent: string;
}

/** `detail`: the arguments that a reader wants to see, "dim=1". */
export type OpInfo = { readonly name: string; readonly detail: string };
export interface EdgeInfo {
  /** `${source}->${target}`: what `selected` holds for an edge. */
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly kind: EdgeKind;
  /** The ops between the two stages, in order. */
  readonly via: readonly OpInfo[];
  readonly shape: Shape | null;
  readonly dtype: string;
  readonly evidence: Evidence;
}

export type NoteInfo = { readonly kind: string; readonly text: string; readonly stage: string };
export interface FailureInfo {
  readonly type: string;
  readonly message: string;
  readonly op: string;
  readonly call: string;
  readonly operands: readonly LeafInfo[];
  readonly location: string;
}

export interface ModelInfo {
  readonly name: string;
  readonly parameters: number;
  readonly device: string;
  readonly forward_ms: number | null;
}

export interface Graph {
  readonly version: number;
  /** Names the trace: part of every tile key. */
  readonly trace: string;
  readonly model: ModelInfo;
  readonly topology: "runtime" | "fx" | "sequential";
  readonly stages: readonly StageInfo[];
  readonly groups: readonly GroupInfo[];
  readonly edges: readonly EdgeInfo[];
  readonly notes: readonly NoteInfo[];
  readonly failure: FailureInfo | null;
}

/** Numbers that may not exist are null: NaN and Infinity are not JSON. */
export interface Statistics {
  readonly count: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly mean: number | null;
  readonly std: number | null;
  /** Fractions of `count`. */
  readonly zeros: number;
  readonly negatives: number;
  /** Counts. */
  readonly nan: number;
  readonly inf: number;
  /** Robust range: 1st and 99th percentile. */
  readonly p1: number | null;
  readonly p99: number | null;
}

/** `counts` of equal bins: int32, little endian. */
export type Histogram = { readonly low: number; readonly high: number; readonly counts: Bytes };
export interface Ranking {
  readonly measure: string;
  /** Channel indices, best first, int32 little endian; at most the first 4,096. */
  readonly order: Bytes;
  readonly count: number;
  readonly dead: number;
  readonly saturated: number;
}

/**
 * Quantised values: one byte each, row by row. Code 255 is "not finite"; otherwise
 * value ≈ low + code / 254 · (high − low), clipped to that range.
 */
export type Codes = { readonly low: number; readonly high: number; readonly codes: Bytes };
/** How many rows and columns of values there are. */
export type Grid = { readonly rows: number; readonly columns: number };
/** The full size that a picture stands for, and whether it was pooled from it. */
export type Sized<S> = { readonly size: S; readonly pooled: boolean };
type Pair = readonly [number, number];

export type Picture =
  | ({ readonly kind: "maps"; readonly channels: readonly number[] } & Grid & Sized<Pair> & Codes)
  /** `codes`: rows × columns × 3 bytes of RGB; nothing to dequantise. */
  | ({ readonly kind: "photo"; readonly codes: Bytes } & Grid & Sized<Pair>)
  | ({ readonly kind: "vector"; readonly length: number } & Sized<number> & Codes)
  | ({
      readonly kind: "tokens";
      /** Patch grid [rows, columns] of the tokens after the `special` leading ones, or null for a sequence. */
      readonly grid: Pair | null;
      readonly special: number;
      readonly labels: readonly string[];
      /** Best-ranked features over the grid. */
      readonly maps: ({ readonly channels: readonly number[] } & Grid & Codes) | null;
    } & Grid &
      Sized<Pair> &
      Codes)
  | ({
      readonly kind: "volume";
      readonly channel: number;
      /** Codes of all planes, one after the other. */
      readonly planes: readonly ({ readonly axis: number; readonly index: number } & Grid)[];
    } & Sized<readonly [number, number, number]> &
      Codes)
  | { readonly kind: "scalar"; readonly value: number | null; readonly text: string }
  | { readonly kind: "classes"; readonly entries: readonly ClassInfo[]; readonly count: number; readonly scale: string }
  /** `codes`: places in `entries`, one byte each; 255 is none. The value of an entry is its share of all places. */
  | ({
      readonly kind: "mask";
      readonly codes: Bytes;
      readonly entries: readonly ClassInfo[];
      readonly count: number;
      readonly how: string;
      /** Index of the class that gets no colour, or −1. */
      readonly background: number;
      /** The slice of a volume, or null. */
      readonly depth: number | null;
      /** Path of the input that it lies over. */
      readonly over: string;
    } & Grid &
      Sized<Pair>)
  | {
      readonly kind: "boxes";
      readonly entries: readonly BoxInfo[];
      readonly count: number;
      readonly size: Pair;
      readonly over: string;
    }
  | { readonly kind: "nothing"; readonly reason: string };

/** `sides`: left, top, right and bottom as parts of the image's width and height. */
export type BoxInfo = {
  readonly sides: readonly [number, number, number, number];
  readonly name: string;
  readonly score: number | null;
};
export type ClassInfo = { readonly index: number; readonly name: string; readonly value: number | null };

export interface Summary {
  readonly leaf: string;
  readonly shape: Shape;
  readonly dtype: string;
  readonly axes: readonly string[];
  readonly axes_kind: string;
  readonly axes_reason: string;
  readonly picture: Picture;
  /** Range of the colours, held while scrubbing unless the options let go of it. */
  readonly scale: Pair;
  /** The picture is the difference to this frame; statistics stay those of the values. */
  readonly reference: number | null;
  readonly statistics: Statistics | null;
  readonly histogram: Histogram | null;
  readonly ranking: Ranking | null;
}

export interface Overview {
  readonly version: number;
  readonly frame: number;
  readonly sample: number;
  /** The frame that was subtracted, or null. */
  readonly reference: number | null;
  /** Stage id -> its summaries, one per leaf. */
  readonly stages: Readonly<Record<string, readonly Summary[]>>;
}

/** Mirror of `records.Request`. A 2-D (or 1-D) slice of one leaf. */
export interface TileRequest {
  readonly key: string;
  readonly frame: number;
  readonly sample: number;
  readonly stage: string;
  readonly leaf: string;
  /** Channel, feature, head or component; null is the whole plane (tokens × features, or a vector). */
  readonly channel: number | null;
  /** [axis, index] into a volume. */
  readonly slice: readonly [number, number] | null;
  /** [top, left, bottom, right] in elements, bottom and right exclusive; null is all. */
  readonly region: readonly [number, number, number, number] | null;
  /** At most [rows, columns], pooled by area; null is exact. */
  readonly size: readonly [number, number] | null;
  /** The difference to this frame is asked for. */
  readonly reference: number | null;
}

/** The interest set. `seq` grows by one with each change. */
export type Wanted = { readonly seq: number; readonly tiles: readonly TileRequest[] };
export type TileDtype = "float16" | "float32" | "float64" | "int32" | "uint8";

export interface TileInfo {
  readonly key: string;
  readonly rows: number;
  readonly columns: number;
  /** Little endian. */
  readonly dtype: TileDtype;
  readonly low: number | null;
  readonly high: number | null;
  readonly mean: number | null;
  readonly exact: boolean;
  /** In words; then there is no data. */
  readonly error: string;
  readonly data: Bytes;
}

/** A batch of answers. `seq` is the newest `wanted.seq` that the kernel had seen. */
export type Tiles = { readonly seq: number; readonly tiles: readonly TileInfo[] };
export interface Options {
  readonly theme: "auto" | "light" | "dark";
  /** "stage": one scale per stage, shared by its channels; "channel": each its own; [low, high]: fixed. */
  readonly normalisation: "stage" | "channel" | readonly [number, number];
  readonly channel_order: "structure" | "index";
  /** Height of the canvas in CSS px; 0 fits the graph. */
  readonly height: number;
  /** The kernel keeps the channels and their order, and the ranges of the colours, as the first frame showed them. */
  readonly hold_channels: boolean;
  readonly hold_colours: boolean;
}

export interface Status {
  readonly state: "idle" | "busy" | "waiting" | "error" | "stale";
  readonly text: string;
  readonly done: number;
  readonly total: number;
  readonly error: { readonly type: string; readonly message: string } | null;
  /** Changes whenever the kernel has spoken, so that silence can be noticed. */
  readonly beat: number;
}

/** Photos of what goes in, by frame: as many as a slider has room for, made while the kernel is idle. */
export type Thumbnails = { readonly sample: number; readonly frames: Readonly<Record<string, Picture>> };

/** All synced traits of the widget. */
export interface Traits {
  graph: Graph;
  overview: Overview;
  frame: number;
  frame_count: number;
  frame_labels: readonly string[];
  /** The frame to show differences to, or null for the values. */
  reference: number | null;
  sample: number;
  sample_count: number;
  /** Stage id, edge id, or "". */
  selected: string;
  expanded: readonly string[];
  wanted: Wanted;
  tiles: Tiles;
  thumbnails: Thumbnails;
  options: Options;
  status: Status;
}
