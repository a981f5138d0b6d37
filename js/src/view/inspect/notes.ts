/** Remarks of the kernel on a stage or on the whole graph, and what went wrong in one. */
import { shapeText } from "../../format";
import type { FailureInfo, NoteInfo } from "../../protocol";
import { div, html, icon } from "../dom";
import { code, terms } from "../parts";

/** Null without notes. `labelOf` names the stage of each where they are of several. */
export function noteList(notes: readonly NoteInfo[], labelOf?: (stage: string) => string): HTMLElement | null {
  if (!notes.length) return null;
  return html(
    "ul.i-notes",
    { label: "Notes" },
    ...notes.map(({ kind, text, stage }) => {
      const name = !labelOf || !stage ? null : code(`${labelOf(stage)}: `);
      return html("li", { "data-note": kind }, name, text);
    }),
  );
}

/** The exception, where it was raised, and the operands that met there. */
export function failureBox(failure: FailureInfo): HTMLElement {
  const { type, message, op, operands, location } = failure;
  const rows: [string, string][] = [];
  if (op) rows.push(["in", op]);
  for (const [i, { path, shape, dtype }] of operands.entries())
    rows.push([path || `operand ${i}`, `${shapeText(shape)} ${dtype}`]);
  if (location) rows.push(["at", location]);
  return div(
    "i-failure",
    { role: "note" },
    html("p.i-alarm", icon("cross"), html("b", type), " ", code(message)),
    terms("i-terms", rows),
  );
}
