"""Operands of one op that share memory: only the one that is written to counts as written."""

import copy
import pickle

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


def test_an_empty_tensor_that_is_given_memory_comes_from_whose_memory_it_is():
    def given(a, b):
        shown, owner = torch.empty(0), b * 2
        shown.set_(owner)
        return shown + 1

    assert inputs_of(given) == {"b"}
    assert inputs_of(lambda a, b: copy.copy(a) + 1) == {"a"}
    assert inputs_of(lambda a, b: torch.cat([torch.empty(0), b.flatten()])) == {"b"}


def test_a_write_through_memory_given_to_an_empty_tensor_is_seen():
    def through(a, b):
        whole = a.clone()
        torch.empty(0).set_(whole.untyped_storage(), 0, whole.shape).add_(b)
        return whole * 2

    assert inputs_of(through) == {"a", "b"}


def test_what_unpickling_makes_may_come_from_anything_at_hand():
    assert "a" in inputs_of(lambda a, b: pickle.loads(pickle.dumps(a)) + 1)


def test_a_gradient_that_was_assigned_is_what_it_was():
    def assigned(a, b):
        holder = torch.zeros(2, 4)
        holder.grad = b * 2
        return holder.grad + 1

    assert inputs_of(assigned) == {"b"}


def test_random_values_hide_what_was_there():
    assert inputs_of(lambda a, b: a + b.clone().bernoulli_(0.5)) == {"a"}


def test_numbers_come_back_into_new_tensors():
    assert inputs_of(lambda a, b: a + a.new_tensor(b.tolist())) == {"a", "b"}
    assert inputs_of(lambda a, b: a + a.new_full((4,), b.sum().item())) == {"a", "b"}
    assert inputs_of(lambda a, b: a + torch.full_like(a, b.sum().item())) == {"a", "b"}


def test_bounds_of_a_slice_are_read():
    assert inputs_of(lambda a, b: a[:, : b.argmax(1)[0]]) == {"a", "b"}
    assert inputs_of(lambda a, b: a[b.argmax() :]) == {"a", "b"}


def test_operators_by_their_full_names_are_known_like_others():
    aten = torch.ops.aten
    assert inputs_of(lambda a, b: a + aten.zeros_like.default(b)) == {"a"}
    assert inputs_of(lambda a, b: aten.copy_.default(a.clone(), b)) == {"b"}
    assert inputs_of(lambda a, b: aten.add_.Tensor(a.clone(), b)) == {"a", "b"}
