/** The Python expression that gives what the inspector shows. */
import type { LeafInfo, Shape } from "../../protocol";
import type { Leaf } from "./detail";
import type { Lens } from "./lens";
import { pythonIndex, pythonString } from "./words";

export interface Cut {
  readonly sample: number;
  /** Channel, head or feature; null for all. */
  readonly item: number | null;
  readonly row?: number;
  readonly column?: number;
  /** [place among the three spatial axes, index] into a volume. */
  readonly slice?: readonly [number, number];
}

/** `flow.activation("dec1")`, with the leaf's name where the stage has several: what it gives out, or attention in it. */
export function activation(stage: string, leaf: string, leaves: readonly LeafInfo[], frame = 0): string {
  const named = leaf && leaves.length > 1 ? `, ${pythonString(leaf)}` : "";
  return `flow.activation(${pythonString(stage)}${named}${frame > 0 ? `, frame=${frame}` : ""})`;
}

/** What gives the values that are shown: those of this frame, less those of the reference. */
export function expressionOf(leaf: Leaf, cut: Omit<Cut, "sample">): string {
  const { frame = 0, sample = 0 } = leaf.context.widget.overview() ?? {};
  const { reference, shape } = leaf.summary();
  const index = indexText(leaf.lens, shape, { ...cut, sample });
  const at = (one: number): string => activation(leaf.stage.id, leaf.name, leaf.stage.leaves, one) + index;
  return reference === null ? at(frame) : `${at(frame)} - ${at(reference)}`;
}

/** The index that cuts out an item, a row, a spot. Axes that are not cut stay whole. */
export function indexText(lens: Lens, shape: Shape, cut: Cut): string {
  const indices: (number | null)[] = shape.map(() => null);
  const set = (axes: readonly number[], index: number | null | undefined): void => {
    let rest = index;
    if (rest === null || rest === undefined) return;
    // Several dimensions shown as one: the innermost runs fastest.
    for (const axis of [...axes].reverse()) {
      const size = Math.max(1, shape[axis] ?? 1);
      indices[axis] = rest % size;
      rest = Math.floor(rest / size);
    }
  };
  const { batch, item } = lens.axes;
  let { row, column } = lens.axes;
  // A batch axis of length 1 is shared by all samples.
  if (batch >= 0) indices[batch] = (shape[batch] ?? 1) > 1 ? cut.sample : 0;
  set(item, cut.item);
  if (lens.form === "volume" && cut.slice) {
    const [along, index] = cut.slice;
    set([lens.spatial[along]!], index);
    const [first, second] = lens.spatial;
    if (first === second) {
      const at = [cut.row ?? 0, cut.column ?? 0];
      at.splice(along, 0, index);
      const [deep, rows, columns] = lens.size;
      // Tokens that are no patches stand in front.
      indices[first] = (shape[first] ?? 0) - deep * rows * columns + (at[0]! * rows + at[1]!) * columns + at[2]!;
      return pythonIndex(indices);
    }
    [row, column] = lens.spatial.filter((_, place) => place !== along).map((axis) => [axis]) as [number[], number[]];
  }
  set(row, cut.row);
  set(column, cut.column);
  return pythonIndex(indices);
}
