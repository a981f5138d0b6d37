"""Random models as data: a program is a list of steps over tensors, run by torch and mirrored by the law's machine.

A step is drawn as a name and small numbers; `compiled` turns the numbers into operands that fit (by remainder, so that
every draw means something and shrinks well) and leaves out what does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from topology.program_modules import MODULES, Kind
from topology.program_ops import OPS, WIDTH, Op
from topology.taint import Machine, Mirror

ROWS = 4


@dataclass(frozen=True, slots=True)
class Step:
    """`operands` are positions among the tensors so far; `module` is set for calls."""

    name: str
    operands: tuple[int, ...]
    numbers: tuple[int, ...] = ()
    module: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Program:
    inputs: int
    modules: tuple[str, ...]
    stages: frozenset[str]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def __repr__(self) -> str:
        """As a listing, which is what a failure shows."""
        lines = [f"v{i} = input {i}" for i in range(self.inputs)]
        machine, values = Machine(fine=False), []
        self._start(machine, values)
        for step in self.steps:
            before = len(values)
            _mirror(self, step, machine, values, {})
            made = ", ".join(f"v{i}" for i in range(before, len(values)))
            operands = ", ".join(f"v{i}" for i in step.operands)
            numbers = "".join(f", {n}" for n in step.numbers)
            called = f"m{step.module}" if step.module is not None else step.name
            text = f"{made} = " if made else ""
            text += f"{called}({operands}{numbers})"
            lines.append(text + (f"    # {step.name}" if step.module is not None else ""))
        lines.append("return " + ", ".join(f"v{i}" for i in self.outputs))
        lines.append("stages: " + (", ".join(sorted(self.stages)) or "none"))
        return "\n" + "\n".join(lines) + "\n"

    def _start(self, machine: Machine, values: list[Mirror]) -> None:
        values += [machine.source(f"input:{i}", (ROWS, WIDTH)) for i in range(self.inputs)]

    def mirrored(self, *, fine: bool) -> set[tuple[str, str]]:
        """The edges that the law wants."""
        machine: Machine = Machine(fine=fine)
        values: list[Mirror] = []
        self._start(machine, values)
        memory: dict[int, Mirror] = {}
        for step in self.steps:
            _mirror(self, step, machine, values, memory)
        for place, index in enumerate(self.outputs):
            machine.output(f"output:{place}", values[index])
        return machine.edges()


class Model(nn.Module):
    """Runs a program. Modules are `m0`, `m1`, ...; the result is a tuple."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        for index, kind in enumerate(program.modules):
            self.add_module(f"m{index}", MODULES[kind].make(self))
        self.double()

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        values = list(inputs)
        for step in self.program.steps:
            operands = [values[i] for i in step.operands]
            if step.module is None:
                made = OPS[step.name].run(operands, step.numbers)
            else:
                made = MODULES[step.name].call(self.get_submodule(f"m{step.module}"), operands)
            values += made
        return tuple(values[i] for i in self.program.outputs)


# ---- the machine runs a program


def _mirror(program: Program, step: Step, machine: Machine, values: list[Mirror], memory: dict[Any, Any]) -> None:
    operands = [values[i] for i in step.operands]
    if step.module is None:
        values += OPS[step.name].mirror(machine, operands, step.numbers)
        return
    kind = MODULES[step.name]
    path = f"m{step.module}"

    def inner(name: str, given: list[Mirror], body: Callable[[list[Mirror]], list[Mirror]]) -> list[Mirror]:
        return _called(program, machine, f"{path}.{name}", given, body, memory)

    def body(given: list[Mirror]) -> list[Mirror]:
        made = kind.mirror(machine, given, memory, inner)
        if step.name == "Keep" and program.modules.index("Keep") == step.module:
            memory[0], memory[1] = memory[-1], memory[-2]
        return made

    values += _called(program, machine, path, operands, body, memory)


def _called(
    program: Program,
    machine: Machine,
    path: str,
    given: list[Mirror],
    body: Callable[[list[Mirror]], list[Mirror]],
    memory: dict[Any, Any],
) -> list[Mirror]:
    count = memory.setdefault(("calls", path), 0)
    memory["calls", path] = count + 1
    if path not in program.stages or machine.stage is not None:
        return body(given)
    machine.enter(f"{path}#{count}", given)
    return machine.leave(body(given))


# ---- from numbers to a program


@dataclass(slots=True)
class Draft:
    """What hypothesis draws: all of it small numbers and names."""

    inputs: int
    modules: list[str]
    staged: list[bool]
    steps: list[tuple[str, tuple[int, int, int, int]]]
    outputs: list[int]


def compiled(draft: Draft) -> Program:
    stages: set[str] = set()
    for index, (kind, staged) in enumerate(zip(draft.modules, draft.staged, strict=True)):
        inner = MODULES[kind].inner
        stages |= {f"m{index}"} if staged else {f"m{index}.{name}" for name in inner}
    program = Program(draft.inputs, tuple(draft.modules), frozenset(stages), (), ())
    machine, values, memory = Machine(fine=False), [], {}
    program._start(machine, values)
    steps: list[Step] = []
    for name, numbers in draft.steps:
        step = _fitted(draft, name, numbers, values)
        if step is not None:
            _mirror(program, step, machine, values, memory)
            steps.append(step)
    # Later values first, since a smaller draw shrinks towards what the last steps made.
    outputs = tuple(dict.fromkeys(len(values) - 1 - n % len(values) for n in draft.outputs))
    return Program(draft.inputs, program.modules, program.stages, tuple(steps), outputs)


def _fitted(draft: Draft, name: str, numbers: tuple[int, ...], values: list[Mirror]) -> Step | None:
    module: int | None = None
    if name == "call":
        if not draft.modules:
            return None
        module = numbers[3] % len(draft.modules)
        name = draft.modules[module]
    definition: Op | Kind = OPS[name] if module is None else MODULES[name]
    extra = (numbers[3],) if isinstance(definition, Op) and definition.numbers else ()
    # Operands are counted from the newest back; the first choice that fits is taken.
    for shift in range(len(values)):
        picked = tuple(
            len(values) - 1 - (numbers[i % 3] + i // 3 + (shift if i == definition.arity - 1 else 0)) % len(values)
            for i in range(definition.arity)
        )
        if definition.fits([values[i] for i in picked], extra):
            return Step(name, picked, extra, module)
    return None
