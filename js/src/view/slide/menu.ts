/** What the slider's menu holds: how it plays, and what stays as the first frame showed it. */
import type { Options } from "../../protocol";
import { computed, lacking, type ViewContext, watch } from "../../state";
import { div, html, iconButton, turnOff } from "../dom";
import { on } from "../events";
import { chooser } from "../parts";
import { popover } from "../popover";
import type { Frames } from "./frames";

function checkbox(
  label: string,
  read: () => boolean,
  write: (on: boolean) => void,
  end: AbortSignal,
  off = (): string => "",
): HTMLElement {
  const input = html("input", { type: "checkbox" });
  watch(end, () => {
    input.checked = read();
    turnOff(input, off());
  });
  on(input, "change", () => write(input.checked), end);
  return html("label.s-choice", input, label);
}

const SPEEDS = [0.5, 1, 2, 4].map((value) => ({ value, text: `${value}×` }));
const RANGES = [
  { value: "stage", text: "by stage" },
  { value: "channel", text: "by picture" },
] as const;

export function menu({ widget }: ViewContext, frames: Frames, end: AbortSignal): HTMLElement {
  const { options } = widget;
  const set = (some: Partial<Options>): void => widget.write("options", { ...options.peek(), ...some });
  const speed = chooser("Speed", SPEEDS, frames.speed, (value) => frames.speed.set(value), end);
  const range = computed(() => options().normalisation);
  const colours = chooser<Options["normalisation"]>(
    "Range of the colours",
    RANGES,
    range,
    (normalisation) => set({ normalisation }),
    end,
  );
  const hold = (name: "hold_channels" | "hold_colours", label: string): HTMLElement =>
    checkbox(
      label,
      () => options()[name],
      (on) => set({ [name]: on }),
      end,
      () => lacking(widget, "Other pictures"),
    );
  const loop = checkbox(
    "in a loop",
    () => frames.loop(),
    (on) => frames.loop.set(on),
    end,
  );
  const panel = div(
    "popover popover-up s-menu",
    { role: "group", label: "Frames: options" },
    html("div", "play", speed, loop),
    html("div", "colours", colours),
    html("p", "As in the first frame shown, so that what moves is the network:"),
    hold("hold_channels", "channels and their order"),
    hold("hold_colours", "ranges of the colours"),
  );
  const button = iconButton("more", "Speed, and what stays the same", () => {}, end);
  return popover(button, panel, end).element;
}
