/** Short ways to ask a layout. */

import type { Card, EdgePath, Layout, LayoutOptions } from "../../src/layout/types";

export const at = (width: number, more: Partial<LayoutOptions> = {}): LayoutOptions => ({
  width,
  card: "auto",
  ...more,
});

export function card(drawn: Layout, id: string): Card {
  return drawn.cards.find((one) => one.id === id)!;
}

export function edge(drawn: Layout, id: string): EdgePath {
  return drawn.edges.find((one) => one.id === id)!;
}

export const rowSizes = (drawn: Layout): number[] => {
  const sizes: number[] = [];
  for (const { row } of drawn.cards) sizes[row] = (sizes[row] ?? 0) + 1;
  return sizes;
};
