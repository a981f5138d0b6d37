"""What is known of a torch function: a rule for each, looked up once a pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

import torch
from torch import Tensor

from ..functions import FIRST_ONLY, LIKE, METADATA, PROPERTIES, SHOWN, detail_of, name_of, plain_name, written_name

_AUGMENTED = frozenset(f"__i{word}__" for word in (
    "add", "sub", "mul", "truediv", "div", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """`ignored`: gives and writes no tensor. `may_write`: to its first operand (`foreach`: to several). `sets_data`:
    assigns `.data`. `iterates`: gives an iterator over pieces. `pure`: writes to nothing but `out=`. `simple`: reads
    the values of all operands."""

    name: str
    shown: str
    ignored: bool
    may_write: bool
    foreach: bool
    sets_data: bool
    iterates: bool
    pure: bool
    simple: bool


def rule_of(func: Any) -> Rule:
    name = plain_name(func)
    is_property = name in ("__get__", "__set__")
    in_place = name.endswith("_") and not name.endswith("__")
    sets_data = name == "__set__" and name_of(func) == "data"
    return Rule(
        name=name,
        shown=name_of(func) if is_property else "unbind" if name == "__iter__" else written_name(name),
        ignored=name in METADATA or (name == "__get__" and name_of(func) in PROPERTIES),
        may_write=in_place or name == "__setitem__" or name in _AUGMENTED or sets_data,
        foreach=name.startswith("_foreach_"),
        sets_data=sets_data,
        iterates=name in ("__iter__", "__reversed__"),
        simple=name not in LIKE and name not in FIRST_ONLY,
        pure=not in_place and isinstance(func, (BuiltinFunctionType, MethodDescriptorType)) and _is_pure(name),
    )


@cache
def _is_pure(name: str) -> bool:
    """Whether torch's own declarations say that the function writes to no operand, but for `out=`."""
    overloads = None if name.startswith("_") else getattr(torch.ops.aten, name, None)
    if overloads is None or "norm" in name:  # batch norm writes to its statistics, and does not declare it
        return False
    schemas = [getattr(overloads, each)._schema for each in overloads.overloads()]  # noqa: SLF001
    return not any(schema.is_mutable and not any(a.is_out for a in schema.arguments) for schema in schemas)


def read_by(name: str, operands: list[Tensor]) -> list[Tensor]:
    """The operands whose values count."""
    if name in LIKE:
        return operands[1:]
    if name in FIRST_ONLY:
        return operands[:1]
    return operands


def detail_by(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    if rule.name not in SHOWN:
        return ""
    values = args[1:]
    for value in values:
        if type(value) is not int:
            return detail_of(rule.name, args, kwargs)
    if kwargs:
        return detail_of(rule.name, args, kwargs)
    return _detail_of_numbers(rule.name, values)


@lru_cache(maxsize=4096)
def _detail_of_numbers(name: str, values: tuple[int, ...]) -> str:
    return detail_of(name, (None, *values), {})
