"""What the user passed -> arguments, and their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models import Do, Residual, Tagged, linear
from nf_widget import trace
from nf_widget.errors import InputError, ModelError
from nf_widget.inputs import check_model, model_device, normalise

X = torch.zeros(3, 4)


class Takes(nn.Module):
    def forward(self, x: Any, mask: Any = None, *rest: Any, scale: float = 1.0, **more: Any) -> Any:
        raise AssertionError("naming runs nothing")


class TakesOne(nn.Module):
    def forward(self, batch: Any) -> Any:
        raise AssertionError("naming runs nothing")


def named(x: Any, kwargs: Any = None, model: nn.Module | None = None) -> list[str]:
    return [path for path, _ in normalise(Takes() if model is None else model, x, kwargs).leaves]


def test_a_tensor_is_the_first_argument() -> None:
    inputs = normalise(Takes(), X, None)
    assert inputs.args == (X,)
    assert named(X) == ["x"]


def test_a_tuple_holds_positional_arguments() -> None:
    assert named((X, X)) == ["x", "mask"]
    assert named((X, None, X)) == ["x", "rest"]
    assert named((X, None, X, X)) == ["x", "rest.0", "rest.1"]
    assert named(((X, X),)) == ["x.0", "x.1"]


def test_a_list_is_one_argument() -> None:
    assert named([X, X]) == ["x.0", "x.1"]


def test_a_mapping_holds_keywords_where_the_forward_takes_them() -> None:
    assert named({"x": X, "mask": X}) == ["x", "mask"]
    inputs = normalise(Takes(), {"x": X, "extra": X}, None)
    assert inputs.args == ()
    assert list(inputs.kwargs) == ["x", "extra"]


def test_a_mapping_is_one_argument_elsewhere() -> None:
    assert named({"image": X, "id": 7}, model=TakesOne()) == ["batch.image"]
    assert named({"batch": X}, model=TakesOne()) == ["batch"]


def test_keywords_are_added() -> None:
    assert named(X, {"mask": X, "scale": 2.0}) == ["x", "mask"]
    assert named(None, {"x": X}) == ["x"]


def test_a_keyword_given_twice() -> None:
    with pytest.raises(InputError, match="x and kwargs both give mask"):
        named({"x": X, "mask": X}, {"mask": X})


@pytest.mark.parametrize("x", ["text", 3, (), None, [], {"x": 1}])
def test_without_a_tensor(x: Any) -> None:
    with pytest.raises(InputError, match="No tensor among the inputs"):
        named(x)


def test_a_forward_without_a_signature() -> None:
    model = linear()
    model.forward = max  # type: ignore[assignment]
    assert named((X, X), {"key": X}, model=model) == ["arg0", "arg1", "key"]


def test_tensors_move_to_the_model() -> None:
    model = nn.Linear(4, 4, device="meta")
    assert model_device(model).type == "meta"
    assert normalise(model, X, None).leaves[0][1].is_meta
    assert model_device(nn.ReLU()).type == "cpu"


def test_what_is_no_module() -> None:
    assert check_model(model := Residual()) is model
    with pytest.raises(ModelError, match="class Residual: pass an instance"):
        check_model(Residual)
    with pytest.raises(ModelError, match="it is an int: '3'"):
        check_model(3)


def fresh(*args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
    return normalise(Takes(), args, kwargs).fresh()


def test_fresh_arguments_share_no_memory() -> None:
    x = torch.ones(3)
    (copy,), _, (leaf,) = fresh(x)
    assert copy is leaf
    copy.zero_()
    assert x.eq(1).all()


def test_one_tensor_in_two_places_stays_one() -> None:
    args, kwargs, leaves = fresh(X, [X], other=X)
    assert args[0] is args[1][0] is kwargs["other"]
    assert len(leaves) == 3


def test_types_attributes_and_flags_are_kept() -> None:
    tagged = torch.ones(3).as_subclass(Tagged)
    tagged.spacing = (1.0, 2.0)
    plain = torch.ones(3)
    plain.note = "mine"
    parameter = nn.Parameter(torch.ones(3))
    frozen = nn.Parameter(torch.ones(3), requires_grad=False)
    args, _, _ = fresh(tagged, plain, parameter, frozen, (torch.ones(3, requires_grad=True) * 2,))
    assert (type(args[0]), args[0].spacing) == (Tagged, (1.0, 2.0))
    assert (type(args[1]), args[1].note) == (Tensor, "mine")
    assert isinstance(args[2], nn.Parameter)
    assert [args[2].requires_grad, args[3].requires_grad] == [True, False]
    assert args[4][0].requires_grad
    assert args[4][0].is_leaf
    assert args[2].data_ptr() != parameter.data_ptr()


def test_containers_are_new() -> None:
    batch = {"x": X, "history": []}
    (copy,), _, _ = normalise(TakesOne(), (batch,), None).fresh()
    copy["history"].append(1)
    copy.pop("x")
    assert batch == {"x": X, "history": []}


class Graph:
    """Like a batch of graphs: tensors lie in a private store, and it can be called."""

    def __init__(self, **tensors: Tensor) -> None:
        self._store = tensors

    def __getattr__(self, name: str) -> Tensor:
        if name.startswith("__") or name not in self._store:
            raise AttributeError(name)
        return self._store[name]

    def __call__(self) -> list[str]:
        return list(self._store)


def test_tensors_on_the_attributes_of_an_object_are_inputs(untouched: Callable[..., Any]) -> None:
    def forward(self: Do, graph: Graph) -> Tensor:
        nodes = self.a(graph.x)
        graph.x.add_(1)
        return nodes[graph.edges[0]]

    model, graph = Do(forward, a=linear()), Graph(x=torch.randn(5, 4), edges=torch.tensor([[0, 1], [2, 4]]))
    before = graph.x.clone()
    flow = trace(model.eval(), graph)
    assert [stage.id for stage in flow.graph.stages if stage.kind == "input"] == ["input:args.x", "input:args.edges"]
    assert ("input:args.edges", "output") in {(edge.source, edge.target) for edge in flow.graph.edges}
    assert flow.verify().ok
    assert torch.equal(graph.x, before)
