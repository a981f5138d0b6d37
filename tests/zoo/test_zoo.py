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
        "DeBERTa", "Longformer", "BigBird", "Reformer", "FNet", "GPT-OSS", "Mamba-2", "ConvNeXt V2", "ViT-MAE",
        "wav2vec 2.0",
    ),
    "diffusers": ("UNet2D", "UNet2D with conditions", "AutoencoderKL"),
}  # fmt: skip
NAMES = [(library, name) for library, names in ZOO.items() for name in names]
# `torch.fx` can run these on symbols when they are cut as chosen; the others branch on shapes or values.
SYMBOLIC = {
    "UNet", "BasicUNet", "BasicUNet, odd side", "AttentionUnet", "SegResNet", "DynUNet", "DynUNet, supervised", "VNet",
    "Swin", "SegFormer", "Mamba-2", "ConvNeXt V2", "wav2vec 2.0", "AutoencoderKL",
}  # fmt: skip
# Stages, and the skip connections that the architecture is known for.
SKIPS = {
    ("monai", "BasicUNet"): (
        ["conv_0", "down_1", "down_2", "down_3", "down_4", "upcat_4", "upcat_3", "upcat_2", "upcat_1", "final_conv"],
        {("conv_0", "upcat_1"), ("down_1", "upcat_2"), ("down_2", "upcat_3"), ("down_3", "upcat_4")},
    ),
    ("monai", "VNet"): (
        ["in_tr", "down_tr32", "down_tr64", "down_tr128", "down_tr256", "up_tr256", "up_tr128", "up_tr64", "up_tr32"],
        {("in_tr", "up_tr32"), ("down_tr32", "up_tr64"), ("down_tr64", "up_tr128"), ("down_tr128", "up_tr256")},
    ),
    ("monai", "UNETR"): (
        ["re:vit.blocks.(3|6|9|11)", "decoder5", "decoder4", "decoder3", "decoder2"],
        {
            ("vit.blocks.3", "decoder3"), ("vit.blocks.6", "decoder4"), ("vit.blocks.9", "decoder5"),
            ("input", "decoder2"),
        },
    ),
    ("diffusers", "UNet2D"): (
        ["conv_in", "down_blocks.0", "down_blocks.1", "mid_block", "up_blocks.0", "up_blocks.1", "conv_out"],
        {
            ("conv_in", "up_blocks.1"), ("down_blocks.0", "up_blocks.0"), ("down_blocks.0", "up_blocks.1"),
            ("down_blocks.1", "up_blocks.0"),
        },
    ),
    ("transformers", "SegFormer"): (
        ["re:segformer.stages.[0-3]", "decode_head"],
        {(f"segformer.stages.{i}", "decode_head") for i in range(3)},
    ),
}  # fmt: skip
# True edges by the law, on which nothing depends when everything else is held.
SILENT = {
    # The class token is read, which does not come from the patches.
    "ViT": {("vit.embeddings.patch_embeddings.projection", "classifier")},
    "CLIP": {("vision_model.embeddings.patch_embedding", "visual_projection")},
    # The first queries are all zero: whatever is attended to, the values there are the same.
    "DETR": {
        ("model.decoder.layers.0.self_attn.q_proj", "model.decoder.layers.0.self_attn.o_proj"),
        ("model.decoder.layers.0.self_attn.k_proj", "model.decoder.layers.0.self_attn.o_proj"),
    },
}
# An argument of which only the shape is read.
UNREAD = {"Whisper": {("input:decoder_input_ids", "decoder.embed_positions")}}
# Too many leaves for every one of them to be perturbed.
LARGE = {"UNETR", "SwinUNETR", "UNet2D with conditions"}


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


@pytest.mark.parametrize(("library", "name"), [entry for entry in NAMES if entry[1] not in LARGE])
def test_every_leaf_a_stage(library, name):
    net = built(library, name)
    recording, setting = recorded(net)
    selection = select(recording.trace, layers="leaves")
    graph = build(net.model, recording.trace, selection, topology="runtime")
    found = verify(
        net.model,
        setting.inputs,
        setting.conditions,
        recording.trace,
        selection,
        graph,
        written=recording.written,
        trials=1,
    )
    assert not found.unexplained, str(found)
    assert set(found.without_influence) == SILENT.get(name, set()), str(found)
    assert set(found.unread) == UNREAD.get(name, set()), str(found)


@pytest.mark.parametrize(("library", "name"), SKIPS)
def test_known_skip_connections(library, name):
    net = built(library, name)
    layers, wanted = SKIPS[library, name]
    recording, _ = recorded(net)
    graph = build(net.model, recording.trace, select(recording.trace, layers=layers), topology="runtime")
    skips = {(edge.source, edge.target) for edge in graph.edges if edge.kind == "skip"}
    assert skips == wanted
