"""Boxes of the picture: input leaves, selected calls, output leaves, and the groups around them."""

from __future__ import annotations

from nf_widget.naming import call_ids, leaf_ids
from nf_widget.records import CallId, Failure, Group, Leaf, Selection, Stage, StageId, Trace

# Of a large model that failed early, the first ones tell enough.
_NAMED = 12


def stage_boxes(trace: Trace, selection: Selection) -> tuple[Stage, ...]:
    """Inputs, then calls in execution order, then outputs. Where the forward raised: the op that did, and by name the
    modules that were not reached."""
    ids = call_ids(trace)
    groups = set(selection.groups)
    boxes: list[Stage] = []
    for name, leaf in zip(leaf_ids("input", trace.inputs), trace.inputs, strict=True):
        boxes.append(Stage(name, "input", leaf.path, _text(name, leaf), "input", None, (leaf,), 0, len(boxes)))
    for call_id in selection.stages:
        call = trace.calls[call_id]
        boxes.append(
            Stage(
                id=ids[call_id],
                kind="call",
                path=call.path,
                label=selection.labels.get(call_id, str(ids[call_id])),
                type_name=call.type_name,
                call=call_id,
                leaves=call.outputs,
                parameter_count=call.parameter_count,
                order=len(boxes),
                group=_group_of(trace, groups, ids, call.parent),
                detail=call.detail,
                expandable=call_id in selection.expandable,
                status="ok" if call.finished else "raised",
            )
        )
    if trace.failure is not None:
        boxes += _after_failure(trace, trace.failure, selection, len(boxes))
    for name, leaf in zip(leaf_ids("output", trace.outputs), trace.outputs, strict=True):
        boxes.append(Stage(name, "output", leaf.path, _text(name, leaf), "output", None, (leaf,), 0, len(boxes)))
    return tuple(boxes)


def _after_failure(trace: Trace, failure: Failure, selection: Selection, order: int) -> list[Stage]:
    """The op that raised, unless a stage holds it, and the outermost modules that were never called."""
    boxes: list[Stage] = []
    if failure.call is not None and failure.call not in selection.owner:
        name = failure.op_name or "forward"
        where = f"raised in {trace.calls[failure.call].type_name}"
        boxes.append(Stage(StageId(f"raised:{name}"), "call", "", name, where, None, (), 0, order, status="raised"))
    for path in _unreached(trace)[:_NAMED]:
        place = order + len(boxes)
        boxes.append(Stage(StageId(path), "call", path, path, "not called", None, (), 0, place, status="not-run"))
    return boxes


def _unreached(trace: Trace) -> list[str]:
    """Modules that never ran, without those inside of another, and without mere containers of some that did."""
    ran = {call.path for call in trace.calls}
    started = {path.rsplit(".", depth)[0] for path in ran for depth in range(path.count(".") + 1)}
    never = [path for path in trace.uncalled if path not in started]
    inside = set(never)
    return [path for path in never if path.rpartition(".")[0] not in inside]


def _text(name: StageId, leaf: Leaf) -> str:
    """The only leaf is `input`; several go by their paths."""
    return leaf.path if ":" in name else str(name)


def group_boxes(trace: Trace, selection: Selection) -> tuple[Group, ...]:
    ids = call_ids(trace)
    groups = set(selection.groups)
    return tuple(
        Group(
            id=ids[call_id],
            label=selection.labels.get(call_id, str(ids[call_id])),
            type_name=trace.calls[call_id].type_name,
            parent=_group_of(trace, groups, ids, trace.calls[call_id].parent),
            call=call_id,
        )
        for call_id in selection.groups
    )


def _group_of(trace: Trace, groups: set[CallId], ids: dict[CallId, StageId] | object, call: CallId | None) -> str:
    names = call_ids(trace) if not isinstance(ids, dict) else ids
    while call is not None:
        if call in groups:
            return str(names[call])
        call = trace.calls[call].parent
    return ""
