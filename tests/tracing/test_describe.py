"""What is said of modules, however they share what they hold."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given
from torch import nn

from nf_widget.running import named_modules
from nf_widget.tracing.describe import Describer, parameter_count


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=3), min_size=1, max_size=9), st.integers(0, 3))
def test_shared_modules_and_parameters_count_once_in_each_module_around_them(
    insides: list[list[int]], tied: int
) -> None:
    made: list[nn.Module] = [nn.Linear(size, size + 1) for size in range(1, 5)]
    for index in range(tied):
        made[index + 1].bias = made[index].bias
    for inside in insides:
        made.append(nn.Sequential(*(made[number % len(made)] for number in inside)))
    modules = named_modules(made[-1])
    describe = Describer(modules)
    assert [describe(path, module)[1] for path, module in modules] == [parameter_count(m) for _, m in modules]


def test_a_module_inside_itself_is_counted_once() -> None:
    model = nn.Sequential(nn.Linear(2, 3))
    model[0].add_module("around", model)
    describe = Describer(named_modules(model))
    assert describe("", model)[1] == describe("0", model[0])[1] == 9
