"""Published architectures: every edge is one that intervention finds, and the model is afterwards as it was.

They are built from their libraries' configurations with random weights; a library that is not installed is skipped.
"""

from __future__ import annotations

import importlib

import pytest
import torch

from nf_widget.errors import TopologyError
from nf_widget.inputs import model_device, normalise
from nf_widget.running import record_conditions
from nf_widget.selection import select
from nf_widget.topology import Setting, build
from nf_widget.topology.fx import symbolic_edges
from nf_widget.topology.verify import verify
from nf_widget.tracing.record import record
from zoo.built import Built

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.filterwarnings("error::nf_widget.errors.NfWidgetWarning"),
]

ZOO = {
    "monai": (
        "UNet", "BasicUNet", "BasicUNet, odd side", "AttentionUnet", "UNETR", "SwinUNETR", "SegResNet", "DynUNet",
        "DynUNet, supervised", "VNet",
    ),
    "transformers": (
        "BERT", "GPT-2", "Llama", "T5", "ViT", "Swin", "CLIP", "Whisper", "DETR", "SegFormer", "Mixtral", "Mamba",
    ),
    "diffusers": ("UNet2D", "UNet2D with conditions", "AutoencoderKL"),
}  # fmt: skip
NAMES = [(library, name) for library, names in ZOO.items() for name in names]
# `torch.fx` can run these on symbols when they are cut as chosen; the others branch on shapes or values.
SYMBOLIC = {
    "UNet", "BasicUNet", "BasicUNet, odd side", "AttentionUnet", "SegResNet", "DynUNet", "DynUNet, supervised", "VNet",
    "Swin", "SegFormer", "AutoencoderKL",
}  # fmt: skip
SKIPS = {
    "UNet": {("model.1.submodule.0", "model.2")},
}


def built(library: str, name: str) -> Built:
    pytest.importorskip(library)
    builders = importlib.import_module(f"zoo.{library}_nets").BUILDERS
    torch.manual_seed(0)
    return builders[name]()


def recorded(net: Built):
    inputs = normalise(net.model, net.args or None, net.kwargs)
    conditions = record_conditions(net.model, model_device(net.model), "eval", grad=False)
    recording = record(net.model, inputs, conditions)
    if recording.error is not None:
        raise recording.error
    return recording, Setting(inputs, conditions)


@pytest.mark.parametrize("library", ZOO)
def test_every_builder_is_tested(library):
    pytest.importorskip(library)
    assert set(importlib.import_module(f"zoo.{library}_nets").BUILDERS) == set(ZOO[library])


@pytest.mark.parametrize(("library", "name"), NAMES)
def test_stages_chosen_automatically(library, name, untouched):
    net = built(library, name)
    with untouched(net.model, net.args, net.kwargs):
        recording, setting = recorded(net)
        selection = select(recording.trace)
        graph = build(net.model, recording.trace, selection, topology="runtime")
        found = verify(
            net.model, setting.inputs, setting.conditions, recording.trace, selection, graph, written=recording.written
        )
        try:
            symbolic = symbolic_edges(net.model, recording.trace, selection, setting)
        except TopologyError:
            assert name not in SYMBOLIC
            symbolic = None
    assert found.ok, str(found)
    assert not found.undecided, str(found)
    assert found.confirmed == sum(edge.evidence == "traced" for edge in graph.edges)
    if symbolic is not None:
        both = {(edge.source, edge.target, edge.via, edge.spec) for edge in symbolic}
        assert both == {(e.source, e.target, e.via, e.spec) for e in graph.edges if e.evidence == "traced"}
