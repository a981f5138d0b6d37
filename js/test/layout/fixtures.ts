/** Stage graphs with the shapes of real networks, by name. */

import type { LayoutGraph } from "../../src/layout/types";
import {
  cyclic,
  denseNet,
  inception,
  lstm,
  manyHeads,
  openBlocks,
  pyramid,
  residualNet,
  seq2seq,
  star,
  transformer,
  twoInputsTwoHeads,
  withIsolated,
} from "./branched";
import { brokenUNet, chain, diffusionUNet, efficientNet, fineUNet, openUNet, uNet } from "./straight";

export const FIXTURES: Readonly<Record<string, () => LayoutGraph>> = {
  "one stage": () => chain(1),
  "two stages": () => chain(2),
  EfficientNet: efficientNet,
  "U-Net": () => uNet(3),
  "diffusion U-Net": diffusionUNet,
  "fine U-Net": fineUNet,
  "open U-Net": openUNet,
  "broken U-Net": brokenUNet,
  "deep U-Net": () => uNet(5),
  "two inputs, two heads": twoInputsTwoHeads,
  "residual net": residualNet,
  transformer: transformer,
  "transformer, closed": () => transformer(2, false),
  star: star,
  "many heads": manyHeads,
  inception: inception,
  "dense net": denseNet,
  "sequence to sequence": seq2seq,
  LSTM: lstm,
  pyramid: pyramid,
  "isolated stages": withIsolated,
  cycle: cyclic,
  "open blocks": openBlocks,
  "chain of 300": () => chain(300),
};
