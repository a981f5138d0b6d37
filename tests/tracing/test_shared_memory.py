"""Operands of one op that share memory: only the one that is written to counts as written."""

import torch
from torch import nn

from nf_widget.inputs import normalise
from nf_widget.running import record_conditions
from nf_widget.tracing.record import record


class Do(nn.Module):
    """`forward(a, b)` is the function given."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, a, b):
        return self.function(a, b)


def inputs_of(function):
    """Names of the inputs that the result's value comes from."""
    model = Do(function)
    inputs = normalise(model, (torch.rand(2, 4), torch.rand(2, 4)), None)
    trace = record(model, inputs, record_conditions(model, torch.device("cpu"), "eval", grad=False)).trace
    entries = {leaf.ops[0]: leaf.path for leaf in trace.inputs}
    (output,) = trace.outputs
    open_ops, seen = list(output.ops), set()
    while open_ops:
        op = open_ops.pop()
        if op not in seen:
            seen.add(op)
            open_ops += trace.ops[op].parents
    return {entries[op] for op in seen if op in entries}


def test_item_assignment_from_the_same_tensor():
    def half_to_half(a, b):
        fresh = torch.zeros(2, 4)
        fresh[:, 2:] = a[:, 2:]
        fresh[:, :2] = fresh[:, 2:]
        return fresh[:, :2]

    assert inputs_of(half_to_half) == {"a"}


def test_in_place_op_leaves_the_view_that_it_reads_alone():
    def add_half_to_half(a, b):
        both = torch.cat([a, b])
        first, second = both[:2], both[2:]
        first[:] = a
        second[:] = b
        first.add_(second)
        return second + 0

    assert inputs_of(add_half_to_half) == {"b"}


def test_copy_of_a_tensor_onto_itself():
    assert inputs_of(lambda a, b: a.copy_(a)) == {"a"}


def test_out_that_is_also_read():
    assert inputs_of(lambda a, b: torch.add(a, b, out=a)) == {"a", "b"}


def test_out_that_is_not_read():
    assert inputs_of(lambda a, b: torch.neg(b, out=a)) == {"b"}


def test_write_to_a_part_with_gaps_hides_all_of_its_own_parts():
    def columns(a, b):
        left = (a + 0)[:, :2]
        corner = left[:1]
        left.copy_(b[:, :2])
        return corner

    assert inputs_of(columns) == {"b"}
