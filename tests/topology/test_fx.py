"""Edges by symbolic tracing equal those of the runtime, or a `TopologyError` says why there are none."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from torch import nn

from models import Do
from nf_widget import trace as open_flow
from nf_widget.errors import TopologyError, TopologyWarning
from nf_widget.inputs import model_device, normalise
from nf_widget.naming import call_ids
from nf_widget.records import Selection
from nf_widget.running import record_conditions
from nf_widget.topology import Setting, build
from nf_widget.topology.fx import symbolic_edges
from nf_widget.topology.runtime import runtime_edges
from nf_widget.tracing.record import record
from topology.fx_nets import NETS, Leaves, Net, Takes, residual, written_buffer
from topology.programs import ROWS, WIDTH, Model
from topology.test_property import programs


def select(trace, names):
    """Calls of the modules `names` (`"m"` all of them, `"m#1"` one) as stages."""
    ids = call_ids(trace)
    stages = tuple(call.id for call in trace.calls if {call.path, ids[call.id]} & set(names))
    owner = {}
    for call in trace.calls:
        if call.id in stages:
            owner[call.id] = call.id
        elif call.parent in owner:
            owner[call.id] = owner[call.parent]
    return Selection(stages, (), owner)


def recorded(model, x, kwargs=None, training="eval"):
    inputs = normalise(model, x, kwargs)
    conditions = record_conditions(model, model_device(model), training, grad=False)
    recording = record(model, inputs, conditions)
    if recording.error is not None:
        raise recording.error
    return recording.trace, Setting(inputs, conditions)


def both(model, x, names, kwargs=None):
    """(edges of the runtime, edges by symbols), without the ops, which are not the same."""
    trace, setting = recorded(model, x, kwargs)
    selection = select(trace, names)
    runtime = tuple(replace(edge, ops=()) for edge in runtime_edges(model, trace, selection))
    return runtime, symbolic_edges(model, trace, selection, setting)


def pairs(edges):
    return {(str(edge.source), str(edge.target)) for edge in edges}


@pytest.mark.parametrize("name", NETS)
def test_edges_equal_those_of_the_runtime(name, untouched):
    function, modules, stages = NETS[name]
    torch.manual_seed(0)
    model = Net(function, **modules).eval()
    x = torch.rand(2, 4)
    with untouched(model, (x,)):
        runtime, symbolic = both(model, x, ["Net" if s == "" else s for s in stages])
    assert symbolic == runtime
    assert symbolic


def test_names_of_the_ops_between():
    _, symbolic = both(Net(residual).eval(), torch.rand(2, 4), "abc")
    via = {(edge.source, edge.target): edge.via for edge in symbolic}
    assert via["a", "c"] == ("cat", "getitem", "add")
    assert via["b", "c"] == ("relu", "cat", "getitem", "add")
    assert via["input", "c"] == ("add",)
    assert pairs(symbolic) == {
        ("input", "a"), ("a", "b"), ("a", "c"), ("b", "c"), ("input", "c"), ("c", "output"),
    }  # fmt: skip


def test_each_leaf_of_a_result_has_its_own_source():
    _, symbolic = both(Net(lambda net, x: {"one": net.a(x), "two": [net.b(x), None]}).eval(), torch.rand(2, 4), "ab")
    assert pairs(symbolic) >= {("a", "output:one"), ("b", "output:two.0")}
    assert ("a", "output:two.0") not in pairs(symbolic)


def test_inputs_in_containers_and_plain_arguments():
    def forward(net, batch, flag=False, scale=1.0):
        y = net.a(batch["x"]) * scale
        return net.b(batch["more"][0]) + y if flag else y

    model = Net(forward).eval()
    batch = {"x": torch.rand(2, 4), "more": [torch.rand(2, 4)]}
    runtime, symbolic = both(model, (batch,), "ab", {"flag": True, "scale": 2.0})
    assert symbolic == runtime
    assert ("b", "output") in pairs(symbolic)


def test_one_tensor_given_twice():
    x = torch.rand(2, 4)
    runtime, symbolic = both(Net(lambda net, x, y: net.a(x) + net.b(y)).eval(), (x, x), "ab")
    assert symbolic == runtime


def test_module_reached_under_a_second_name():
    model = Net(lambda net, x: net.b(net.other(x) + net.a(x))).eval()
    model.other = model.a
    runtime, symbolic = both(model, torch.rand(2, 4), "ab")
    assert symbolic == runtime
    assert {edge.source for edge in symbolic} >= {"a#0", "a#1"}


def test_skip_stored_by_a_hook_of_the_user(untouched):
    model = Net(lambda net, x: net.c(net.b(net.a(x)) + net.skips.pop())).eval()
    model.skips = []
    model.a.register_forward_hook(lambda module, args, output: model.skips.append(output * 2))
    x = torch.rand(2, 4)
    with untouched(model, (x,)):
        runtime, symbolic = both(model, x, "abc")
    assert symbolic == runtime
    assert ("a", "c") in pairs(symbolic)


def test_hook_that_changes_what_a_stage_gives():
    model = Net(lambda net, x: net.b(net.a(x))).eval()
    model.a.register_forward_hook(lambda module, args, output: output + args[0])
    model.b.register_forward_pre_hook(lambda module, args: (args[0].exp(),))
    runtime, symbolic = both(model, torch.rand(2, 4), "ab")
    assert symbolic == runtime


def test_tensor_left_on_an_attribute(untouched):
    first = Leaves()
    model = Net(lambda net, x: net.b(net.c(net.a(x))), a=first, b=Takes(first)).eval()
    x = torch.rand(2, 4)
    with untouched(model, (x,)):
        runtime, symbolic = both(model, x, "abc")
    assert pairs(symbolic) == pairs(runtime)
    assert ("a", "b") in pairs(symbolic)


def test_buffer_written_by_the_forward(untouched):
    model = Net(written_buffer).eval()
    model.register_buffer("memory", torch.zeros(2, 4))
    x = torch.rand(2, 4)
    with untouched(model, (x,)):
        runtime, symbolic = both(model, x, "ab")
    assert symbolic == runtime
    assert ("a", "b") in pairs(symbolic)


def test_parameter_that_a_stage_wrote():
    def forward(net, x):
        with torch.no_grad():
            net.b.weight.copy_(net.a(x[:4]))
        return net.b(x)

    runtime, symbolic = both(Net(forward).eval(), torch.rand(6, 4), "ab")
    assert pairs(symbolic) == pairs(runtime)
    assert ("a", "b") in pairs(symbolic)


def test_forward_that_draws_and_counts_leaves_no_trace(untouched):
    def forward(net, x):
        net.counter += 1
        net.last = net.a(x)
        net.seen.append(net.last)
        return net.b(net.last + torch.rand(4))

    model = Net(forward).train()
    model.register_buffer("counter", torch.zeros(()))
    model.seen = []
    x = torch.rand(2, 4)
    trace, setting = recorded(model, x)
    with untouched(model, (x,)):
        symbolic_edges(model, trace, select(trace, "ab"), setting)
    assert model.counter == 0


def test_forward_that_fails_on_symbols_leaves_no_trace(untouched):
    def forward(net, x):
        net.half_done = net.a(x)
        torch.rand(3)
        net.a.weight.mul_(1)
        if x.sum() > 0:
            return net.b(net.half_done)
        return net.c(net.half_done)

    model = Net(forward).train()
    trace, setting = recorded(model, torch.rand(2, 4))
    with (
        untouched(model),
        pytest.raises(TopologyError, match=r"Net could not be symbolically traced: .*control flow"),
    ):
        symbolic_edges(model, trace, select(trace, "abc"), setting)


class Asks(nn.Module):
    """Takes another way when it is not given a tensor."""

    def forward(self, x):
        return torch.cat([x, x], 1)[:, :4] if isinstance(x, torch.Tensor) else x * 2


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        (lambda net, x: net.b(net.asks(net.a(x))), "another way"),
        (lambda net, x: net.b(net.a(x)) if isinstance(x, torch.Tensor) else net.b(x), "did not call a"),
        (lambda net, x: net.a(x) if isinstance(x, torch.Tensor) else net.a(net.a(x)), "only 1 times"),
        (lambda net, x: net.a(x) if isinstance(x, torch.Tensor) else net.a(net.b(x)), "called b, which the real one"),
        (lambda net, x: net.a(x) if isinstance(x, torch.Tensor) else {"y": net.a(x)}, "lacks a tensor"),
        (lambda net, x: torch.stack(list(net.a(x))), "iterated"),
        (lambda net, x: net.a(x) * math.sqrt(float(x.sum())), "float"),
    ],
)  # fmt: skip
def test_another_way_is_an_error_and_not_other_edges(forward, reason):
    model = Net(forward, asks=Asks()).eval()
    trace, setting = recorded(model, torch.rand(2, 4))
    with pytest.raises(TopologyError, match="could not be symbolically traced") as raised:
        symbolic_edges(model, trace, select(trace, "abc"), setting)
    assert reason in str(raised.value)


def test_without_the_inputs_there_are_no_edges():
    model = Net(residual).eval()
    trace, _ = recorded(model, torch.rand(2, 4))
    with pytest.raises(TopologyError, match="could not be symbolically traced"):
        symbolic_edges(model, trace, select(trace, "abc"))


def test_build_falls_back_with_a_warning_and_a_note():
    model = Net(lambda net, x: net.b(net.a(x)) if x.sum() > 0 else x).eval()
    trace, setting = recorded(model, torch.rand(2, 4))
    with pytest.warns(TopologyWarning, match="could not be symbolically traced"):
        graph = build(model, trace, select(trace, "ab"), topology="fx", setting=setting)
    assert graph.topology == "sequential"
    assert any(note.kind == "topology" for note in graph.notes)
    assert pairs(graph.edges) == {("input", "a"), ("a", "b"), ("b", "output")}


def test_a_flow_by_symbols():
    model = Net(residual).eval()
    x = torch.rand(2, 4)
    by_symbols = open_flow(model, x, layers=["a", "b", "c"], topology="fx")
    by_runtime = open_flow(model, x, layers=["a", "b", "c"], topology="runtime")
    assert by_symbols.graph.topology == "fx"
    assert [replace(e, ops=()) for e in by_symbols.graph.edges] == [replace(e, ops=()) for e in by_runtime.graph.edges]


# What the property test leaves out: these ops read whole shapes in Python; the modules keep tensors in lists or ask.
UNTRACEABLE = {"where", "expand", "Append", "Recall", "Stir"}
DIVISIONS = {"chunk", "split", "unbind"}
# They show or write parts of a tensor; how parts overlap is not known without shapes.
PARTS = DIVISIONS | {
    "row",
    "rows",
    "columns",
    "column",
    "set rows",
    "index_put_",
    "set listed rows",
    "Look",
    "FirstRow",
}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs())
def test_random_models(program):
    used = {step.name for step in program.steps} | set(program.modules)
    assume(not used & UNTRACEABLE)
    torch.manual_seed(0)
    model = Model(program).eval()
    trace, setting = recorded(
        model, tuple(torch.randn(ROWS, WIDTH, dtype=torch.float64) for _ in range(program.inputs))
    )
    selection = select(trace, program.stages)
    runtime = pairs(runtime_edges(model, trace, selection))
    try:
        symbolic = pairs(symbolic_edges(model, trace, selection, setting))
    except TopologyError:
        # Into how many pieces a tensor fell cannot be told where one division follows another.
        assert len([step for step in program.steps if step.name in DIVISIONS]) > 1
        return
    if used & PARTS:
        assert symbolic >= runtime
    else:
        assert symbolic == runtime


def test_parameters_that_a_forward_exchanges_are_put_back(untouched):
    def forward(self, x):
        for new, kept in zip(self.student.parameters(), self.teacher.parameters(), strict=True):
            kept.data = kept.data * 0.9 + new.data * 0.1
        return self.student(x) - self.teacher(x)

    model, x = Do(forward, student=nn.Linear(4, 4), teacher=nn.Linear(4, 4)).eval(), torch.randn(3, 4)
    with untouched(model, (x,)):
        assert open_flow(model, x, topology="fx").graph.topology == "fx"
