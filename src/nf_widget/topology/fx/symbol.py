"""What stands for a tensor while a model is traced symbolically."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import GetSetDescriptorType
from typing import Any

from torch import Tensor
from torch.fx import Proxy
from torch.fx.proxy import Attribute

from nf_widget.functions import PROPERTIES

# Python's in-place operators.
IN_PLACE = (
    "iadd", "iand", "ifloordiv", "ilshift", "imod", "imul", "imatmul", "ior", "ipow", "irshift", "isub", "itruediv",
    "ixor",
)  # fmt: skip
_DESCRIPTORS = (property, GetSetDescriptorType)


class Symbol(Proxy):
    """A proxy that also records in-place operators, item assignment and `tensor.data = ...`."""

    def __getattr__(self, name: str) -> Attribute:
        attribute = SymbolAttribute(self, name)
        if name not in PROPERTIES and isinstance(getattr(Tensor, name, None), _DESCRIPTORS):
            attribute.node  # noqa: B018 - `torch.fx` waits until the attribute is used; what it shows is of now
        return attribute

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "data":
            self.tracer.create_proxy("call_function", setattr, (self, name, value), {})
        else:
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        tracer: Any = self.tracer
        count = tracer.count(self.node)
        return super().__len__() if count is None else count

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.create_proxy("call_function", operator.setitem, (self, key, value), {})


class SymbolAttribute(Attribute, Symbol):
    """An attribute of a symbol, which may be written to as well (`x.data[0] = 1`)."""


def _in_place_operator(name: str) -> Callable[[Symbol, Any], Proxy]:
    def apply(self: Symbol, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", getattr(operator, name), (self, other), {})

    return apply


for _name in IN_PLACE:
    setattr(Symbol, f"__{_name}__", _in_place_operator(_name))
