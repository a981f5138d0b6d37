/** Words and Python that only the inspector needs; numbers and shapes are in format.ts. */

/** A fraction of one with a decimal: "0%", "<0.1%", "47.9%". Never "100%" for what is not all. */
export function share(fraction: number): string {
  if (fraction === 0 || fraction === 1) return `${fraction * 100}%`;
  if (fraction < 0.001) return "<0.1%";
  if (fraction > 0.999) return ">99.9%";
  return `${(fraction * 100).toFixed(1)}%`;
}

/** A Python string literal: JSON's escapes are Python's too. */
export const pythonString = (text: string): string => JSON.stringify(text);

/** `null` stands for a whole axis; trailing whole axes are left out. */
export function pythonIndex(indices: readonly (number | null)[]): string {
  let length = indices.length;
  while (length > 0 && indices[length - 1] === null) length--;
  const parts = indices.slice(0, length).map((index) => (index === null ? ":" : String(index)));
  return length === 0 ? "" : `[${parts.join(", ")}]`;
}
