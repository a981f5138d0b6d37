/** Groups as a tree over stages. */

import { held } from "../lists";
import type { LayoutGroup, LayoutStage } from "./types";

export interface GroupTree {
  /** Stages in a group or in a group inside it; groups without any are left out. In the order given. */
  readonly members: ReadonlyMap<string, readonly number[]>;
  /** Of a group: 1 when it holds no other group, one more than the highest inside it otherwise. */
  readonly level: ReadonlyMap<string, number>;
  /** The highest level, 0 without groups. */
  readonly levels: number;
  readonly parent: ReadonlyMap<string, string>;
  /** Groups around a stage, innermost first. */
  readonly around: readonly (readonly string[])[];
}

export function groupTree(stages: readonly LayoutStage[], groups: readonly LayoutGroup[]): GroupTree {
  const parent = new Map(groups.map((group) => [group.id, group.parent]));
  const around = stages.map((stage) => {
    const ids: string[] = [];
    let id = stage.group;
    while (parent.has(id) && !ids.includes(id)) {
      ids.push(id);
      id = parent.get(id)!;
    }
    return ids;
  });
  const found = new Map<string, number[]>();
  const level = new Map<string, number>();
  around.forEach((ids, stage) => {
    ids.forEach((id, depth) => {
      level.set(id, Math.max(level.get(id) ?? 0, depth + 1));
      held(found, id, () => []).push(stage);
    });
  });
  const members = new Map(
    groups.flatMap((group) => (found.has(group.id) ? [[group.id, found.get(group.id)!] as const] : [])),
  );
  return { members, level, levels: Math.max(0, ...level.values()), parent, around };
}
