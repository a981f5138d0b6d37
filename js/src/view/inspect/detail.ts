/** What is known of a leaf's slices, and what to ask for to know them exactly. */
import type { Scale } from "../../colour";
import type { StageInfo, Summary, TileRequest } from "../../protocol";
import { type ReadonlySignal, requestFor, type ViewContext } from "../../state";
import { planesOf } from "../draw/slots";
import { leafScale } from "../scale";
import type { Lens } from "./lens";
import { codedSlice, momentsOf, type Slice, tileSlice } from "./slice";

/** Elements of a slice that travels whole: 4 MB as float32. Larger ones come pooled, with exact rows and columns. */
export const WHOLE_LIMIT = 2 ** 20;

/** One leaf of one stage, as one view inspects it. The lens stays as it is while the input changes. */
export interface Leaf {
  readonly context: ViewContext;
  readonly stage: StageInfo;
  readonly name: string;
  readonly lens: Lens;
  /** Of the frame and sample that are shown. */
  readonly summary: ReadonlySignal<Summary>;
}

export type Part = Partial<Pick<TileRequest, "channel" | "slice" | "region" | "size">>;

export const request = ({ context, stage, name }: Leaf, part: Part): TileRequest =>
  requestFor(context.widget, stage.id, name, part);

/** `null`, which is exact, where the slice has no more than `bound` rows and columns; else what fits into them. */
export const within = (size: readonly [number, number], bound: number): readonly [number, number] | null =>
  size[0] <= bound && size[1] <= bound ? null : [Math.min(size[0], bound), Math.min(size[1], bound)];

/** Rows and columns of a slice too large to travel whole: enough for a plate at two device pixels per CSS px. */
const POOLED = 512;

/** The request for a slice to be looked at closely. */
export const closely = (leaf: Leaf, size: readonly [number, number], part: Part): TileRequest =>
  request(leaf, { ...part, size: size[0] * size[1] <= WHOLE_LIMIT ? null : within(size, POOLED) });

/** The best tile that is there of a slice with `size` rows and columns, in whatever resolution; null without any. */
export function known({ context }: Leaf, wanted: TileRequest, size: readonly [number, number]): Slice | null {
  const { interest } = context;
  // A tile of the whole is no stand-in for a region of it.
  const tile = wanted.region ? interest.get(wanted.key) : interest.nearest(wanted);
  return !tile || tile.error ? null : tileSlice(tile, size);
}

/** Why a tile cannot come, in words; "" where nothing is wrong. */
export const failure = ({ context }: Leaf, wanted: TileRequest): string =>
  context.interest.get(wanted.key)?.error ?? "";

/** The overview's codes of one item of a picture of maps, of a volume's plane, or of all tokens or a vector. */
export function codedOverview(
  { picture }: Summary,
  item: number | null,
  cut: readonly [number, number] | null = null,
): Slice | null {
  const planes = planesOf(picture);
  switch (picture.kind) {
    case "maps":
      return codedSlice(planes[picture.channels.indexOf(item ?? 0)], picture.size);
    case "volume": {
      const at = picture.planes.findIndex(({ axis, index }) => axis === cut?.[0] && index === cut[1]);
      return picture.channel === (item ?? 0) && cut ? codedSlice(planes[at], cutSize(picture.size, cut[0])) : null;
    }
    case "tokens":
      // One number for each token lies as a row.
      if (picture.columns === 1)
        return codedSlice({ ...planes[0]!, rows: 1, columns: picture.rows }, [1, picture.size[0]]);
      return codedSlice(planes[0], picture.size);
    case "vector":
      return codedSlice(planes[0], [1, picture.size]);
    default:
      return null;
  }
}

/** The coded map of one feature of tokens over the patch grid. */
export function codedFeature({ picture }: Summary, feature: number): Slice | null {
  if (picture.kind !== "tokens" || !picture.maps || !picture.grid) return null;
  const at = picture.maps.channels.indexOf(feature);
  return at < 0 ? null : codedSlice(planesOf(picture)[1 + at], picture.grid);
}

/** Rows and columns of a volume cut across `axis`. */
export const cutSize = (size: readonly number[], axis: number): readonly [number, number] =>
  size.filter((_, place) => place !== axis) as unknown as readonly [number, number];

/** The scale that a slice of the leaf is painted in. */
export function scaleOf({ context, summary }: Leaf, slice: Slice | null): Scale {
  return leafScale(context.widget, summary(), () => {
    if (!slice) return null;
    const { min, max } = momentsOf(slice.values);
    return Number.isNaN(min) ? null : { low: min, high: max };
  });
}
