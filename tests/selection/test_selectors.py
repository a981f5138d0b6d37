"""Stages by hand: names, numbers, patterns, classes, predicates, exclusion, labels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

import models_zoo as zoo
from nf_widget import LayerError, OptionError
from nf_widget.records import ModuleCall, Trace
from nf_widget.selection import select
from selection.traces import check, ids, image, tokens, traced


class Net(nn.Module):
    """`stem`, two blocks of two layers, one layer called twice, its alias, and a layer that is not called."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.block1 = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
        self.block2 = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
        self.twice = nn.Linear(4, 4)
        self.again = self.twice
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.aux_head = nn.Linear(4, 2)
        self.aux_norm = nn.LayerNorm(4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.twice(self.block2(self.block1(self.stem(x))))
        for layer in self.layers:
            x = layer(x)
        return self.twice(x)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return traced(Net(), torch.ones(1, 4))


def chosen(trace: Trace, layers: object, **options: object) -> list[str]:
    selection = select(trace, layers=layers, **options)  # type: ignore[arg-type]
    check(trace, selection)
    return ids(trace, selection.stages)


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("stem", ["stem"]),
        (["block2", "stem"], ["stem", "block2"]),
        (["stem", "stem"], ["stem"]),
        ("twice", ["twice#0", "twice#1"]),
        ("twice#1", ["twice#1"]),
        ("again", ["twice#0", "twice#1"]),
        ("again#0", ["twice#0"]),
        ("stem#0", ["stem"]),
        ("re:block.", ["block1", "block2"]),
        (r"re:block1\.\d", ["block1.0", "block1.1", "block1.2"]),
        ("re:agai.", ["twice#0", "twice#1"]),
        ("re:tem", LayerError),
        ("type:Sequential", ["block1", "block2"]),
        ("type:Re.*", ["block1.1", "block2.1"]),
        ("type:Lin", LayerError),
        (lambda call: call.path.endswith(".2"), ["block1.2", "block2.2"]),
        ([lambda call: call.index == 1, "stem"], ["stem", "twice#1"]),
        ("leaves", [
            "stem", "block1.0", "block1.2", "block2.0", "block2.2", "twice#0", "layers.0", "layers.1", "twice#1",
        ]),
        (["leaves", "block1.1"], [
            "stem", "block1.0", "block1.1", "block1.2", "block2.0", "block2.2", "twice#0", "layers.0", "layers.1",
            "twice#1",
        ]),
        ("Net", ["Net"]),
        (iter(["stem", "block1"]), ["stem", "block1"]),
    ],
)  # fmt: skip
def test_selectors(trace: Trace, layers: object, expected: object) -> None:
    if expected is LayerError:
        with pytest.raises(LayerError):
            chosen(trace, layers)
    else:
        assert chosen(trace, layers) == expected


def test_of_nested_names_the_inner_are_stages_and_the_outer_a_group(trace: Trace) -> None:
    selection = select(trace, layers=["block1", "block1.2", "block2"])
    check(trace, selection)
    assert ids(trace, selection.stages) == ["block1.2", "block2"]
    assert ids(trace, selection.groups) == ["block1"]


def test_the_root_is_no_group(trace: Trace) -> None:
    selection = select(trace, layers=["Net", "re:.*"])
    check(trace, selection)
    assert "Net" not in ids(trace, selection.groups)
    assert ids(trace, selection.groups) == ["block1", "block2"]


def test_each_call_of_a_module_is_nested_for_itself() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Maybe()

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(self.inner(x, deep=False), deep=True)

    class Maybe(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.scale = nn.Linear(4, 4), nn.Parameter(torch.ones(4, 4))

        def forward(self, x: Tensor, *, deep: bool) -> Tensor:
            return self.layer(x) if deep else x @ self.scale

    trace = traced(Twice(), torch.ones(1, 4))
    selection = select(trace, layers=["inner", "inner.layer"])
    check(trace, selection)
    assert ids(trace, selection.stages) == ["inner#0", "inner.layer"]
    assert ids(trace, selection.groups) == ["inner#1"]


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ("block3", ["'block3' names no module", "block1", "block2"]),
        (["stem", "blok1"], ["'blok1' names no module", "block1"]),
        ("2", ["block1.2", "block2.2"]),
        ("re:blok.*", ["matches no module that ran"]),
        ("type:Conv2d", ["matches no class", "Linear"]),
        ("twice#2", ["twice ran as #0 to #1"]),
        ("stem#1", ["stem ran once, as #0"]),
        ("aux_head#0", ["aux_head did not run"]),
        ("aux_head", ["aux_head exists, but it did not run"]),
        (["aux_head", "aux_norm"], ["aux_head exists", "aux_norm exists"]),
        ("re:aux.*", ["did not run", "aux_head, aux_norm"]),
        ("layers", ["layers is never called itself", "layers.0, layers.1"]),
        (lambda call: False, ["predicate <lambda>", "none of the"]),
    ],
)
def test_a_selector_that_matches_nothing_says_what_is_there(trace: Trace, layers: object, words: list[str]) -> None:
    with pytest.raises(LayerError) as caught:
        chosen(trace, layers)
    for word in words:
        assert word in str(caught.value)


def test_of_several_names_one_that_never_ran_is_a_note(trace: Trace) -> None:
    selection = select(trace, layers=["stem", "aux_head", "re:aux_n.*"])
    assert ids(trace, selection.stages) == ["stem"]
    assert [(note.kind, note.stage) for note in selection.notes] == [("not-run", "aux_head"), ("not-run", "aux_norm")]
    assert "aux_head" in selection.notes[0].text


def test_an_unknown_name_is_an_error_also_beside_known_ones(trace: Trace) -> None:
    with pytest.raises(LayerError, match="nothing_like_it"):
        select(trace, layers=["stem", "nothing_like_it"])


def test_modules_that_the_trace_does_not_know_count_as_there(trace: Trace) -> None:
    selection = select(trace, layers=["stem", "elsewhere"], modules=frozenset({"elsewhere"}))
    assert [note.stage for note in selection.notes] == ["elsewhere"]


@pytest.mark.parametrize(
    ("layers", "word"),
    [([], "empty"), ([3], "3"), ("re:(", "regular expression"), (["stem", "type:["], "regular expression")],
)
def test_what_is_no_selector_is_refused(trace: Trace, layers: object, word: str) -> None:
    with pytest.raises(OptionError, match=word):
        chosen(trace, layers)


def test_max_stages_must_be_positive_and_does_not_bound_what_is_named(trace: Trace) -> None:
    with pytest.raises(OptionError, match="max_stages"):
        select(trace, max_stages=0)
    assert len(chosen(trace, "leaves", max_stages=3)) == 9


def test_a_predicate_sees_module_calls_and_its_errors_pass(trace: Trace) -> None:
    seen: list[ModuleCall] = []

    def wide(call: ModuleCall) -> bool:
        seen.append(call)
        return call.parameter_count > 30

    assert chosen(trace, wide) == ["block1", "block2"]
    assert tuple(seen) == trace.calls
    with pytest.raises(ZeroDivisionError):
        chosen(trace, lambda call: 1 / 0 > 1)


def test_exclude_takes_a_call_and_all_inside_out(trace: Trace) -> None:
    assert chosen(trace, "leaves", exclude=["block1", "twice#0", "type:ReLU"]) == [
        "stem", "block2.0", "block2.2", "layers.0", "layers.1", "twice#1",
    ]  # fmt: skip
    assert not {"block1", "block1.0"} & set(chosen(trace, None, exclude="block1"))


def test_exclude_of_what_never_ran_is_fine_but_an_unknown_name_is_not(trace: Trace) -> None:
    assert chosen(trace, "stem", exclude=["aux_head", "re:nothing.*"]) == ["stem"]
    with pytest.raises(LayerError, match="block1"):
        chosen(trace, "stem", exclude="blok1")


def test_to_exclude_all_that_is_named_is_an_error(trace: Trace) -> None:
    with pytest.raises(LayerError, match="exclude"):
        chosen(trace, "stem", exclude="re:.*")
    with pytest.raises(LayerError, match="exclude"):
        chosen(trace, None, exclude="Net")


def test_without_anything_inside_the_model_is_one_stage(trace: Trace) -> None:
    for everything in ("re:.*", "type:.*", lambda call: True):
        assert chosen(trace, None, exclude=everything) == ["Net"]


def test_the_automatic_cut_does_without_what_is_excluded() -> None:
    trace = traced(zoo.GPT(4).eval(), tokens())
    assert ids(trace, select(trace, exclude=["type:Embedding", "transformer.h.1"]).stages) == [
        "transformer.h.0", "transformer.h.2", "transformer.h.3", "lm_head",
    ]  # fmt: skip


def test_labels_go_to_every_call_of_a_name_and_stay_when_it_is_not_shown(trace: Trace) -> None:
    selection = select(trace, layers=["stem", "twice"], labels={"again": "shared", "stem": "first", "block1": "body"})
    names = {str(trace.calls[call].path): text for call, text in selection.labels.items()}
    assert names == {"twice": "shared", "stem": "first", "block1": "body"}
    assert len(selection.labels) == 4
    one = select(trace, layers="twice", labels={"twice#1": "second"})
    assert {trace.calls[call].index: text for call, text in one.labels.items()} == {1: "second"}


def test_a_label_for_nothing_is_a_note(trace: Trace) -> None:
    selection = select(trace, layers="stem", labels={"stm": "first", "aux_head": "aux"})
    assert [(note.kind, note.stage) for note in selection.notes] == [
        ("unused-label", "stm"),
        ("unused-label", "aux_head"),
    ]


def test_a_module_named_like_a_numbered_call() -> None:
    model = nn.Sequential()
    model.add_module("part#1", nn.Linear(4, 4))
    model.add_module("part", nn.Linear(4, 4))
    trace = traced(model, torch.ones(1, 4))
    assert chosen(trace, "part#1") == ["part#1"]
    assert chosen(trace, "part#0") == ["part"]


def test_selectors_may_come_from_any_iterable(trace: Trace) -> None:
    def several() -> Iterator[str]:
        yield "stem"
        yield "block2"

    assert chosen(trace, several()) == ["stem", "block2"]
    assert chosen(trace, {"stem"}) == ["stem"]


def test_a_convolutional_net_by_class() -> None:
    trace = traced(zoo.UNet(2).eval(), image(1, 16, 16))
    assert chosen(trace, "type:ConvTranspose.*") == ["up2", "up1"]
