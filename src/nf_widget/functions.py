"""What single torch functions do with their operands, where their signature does not say it. Tables, by name."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Their tensor result takes nothing but shape, dtype and device from the first operand.
LIKE = _words(
    "empty_like zeros_like ones_like full_like rand_like randn_like randint_like new_empty new_zeros new_ones new_full "
    "new_tensor new_empty_strided"
)
# Only the first operand's values count; the others give a shape or a dtype.
FIRST_ONLY = _words("view_as expand_as reshape_as type_as resize_as_ to")
# Each result belongs to the operand at its place.
PAIRWISE = _words("broadcast_tensors meshgrid atleast_1d atleast_2d atleast_3d align_tensors")
# They overwrite their first operand without reading it.
OVERWRITE = _words(
    "copy_ fill_ zero_ normal_ uniform_ random_ exponential_ geometric_ cauchy_ log_normal_ set_ "
    "resize_as_ eye_ dirac_ orthogonal_ ones_ zeros_ constant_ kaiming_normal_ kaiming_uniform_ trunc_normal_ "
    "xavier_normal_ xavier_uniform_ bernoulli_ sparse_"
)
# Values leave tensor-land here, and come back there.
EXITS = _words("numpy tolist __array__ __dlpack__ item __float__ __int__ __complex__ __index__")
# Of these, Python has the memory itself, and may write to it.
SHARES = _words("numpy __array__ __dlpack__")
RETURNS = _words(
    "tensor as_tensor asarray scalar_tensor frombuffer from_numpy from_dlpack full full_like new_full new_tensor"
)
# The result shows the first operand's memory: as it is, in another shape, in another order or repeated, or in part.
SHOWS = _words("detach alias data")
RESHAPES = _words("view view_as unflatten squeeze unsqueeze view_as_real view_as_complex")
PERMUTES = _words(
    "transpose permute movedim moveaxis swapaxes swapdims t adjoint T mT H mH expand expand_as broadcast_to"
)
PARTS = _words("narrow diagonal unfold select as_strided imag real")
# Likewise where the memory allows it; else they copy.
MAY_COPY = _words("reshape reshape_as flatten ravel")
# They may give the operand itself, and then do nothing.
MAY_DO_NOTHING = _words(
    "contiguous to float double half bfloat16 int long short char byte bool type type_as cpu cuda pin_memory positive "
    "conj resolve_conj resolve_neg real flatten ravel sum_to_size as_tensor asarray dropout dropout1d dropout2d "
    "dropout3d alpha_dropout feature_dropout feature_alpha_dropout"
)
# The result is a tuple: pieces of the first operand's memory, or new tensors.
DIVIDES = _words("chunk split split_with_sizes tensor_split hsplit vsplit dsplit unbind unsafe_chunk unsafe_split")
SEVERAL = _words(
    "topk sort kthvalue mode cummax cummin frexp var_mean std_mean aminmax qr svd eigh slogdet unique_consecutive "
    "lstm gru rnn_tanh rnn_relu multi_head_attention_forward max_pool1d_with_indices max_pool2d_with_indices "
    "max_pool3d_with_indices native_layer_norm native_batch_norm native_group_norm linalg_qr linalg_svd linalg_eigh "
    "linalg_eig linalg_slogdet linalg_inv_ex linalg_cholesky_ex linalg_lu linalg_lu_factor geqrf triangular_solve "
    "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices"
)
# Nothing to record: they give no tensor and write nothing.
METADATA = _words(
    "size dim stride numel nelement ndimension element_size storage_offset data_ptr get_device is_floating_point "
    "is_complex is_signed is_contiguous is_tensor is_storage __len__ __repr__ __str__ __format__ __hash__ __dir__ "
    "untyped_storage storage is_inference is_conj is_neg is_pinned is_shared is_same_size is_nonzero "
    "__bool__ register_hook requires_grad_ retain_grad has_names promote_types result_type can_cast"
)
# Likewise for properties.
PROPERTIES = _words(
    "shape dtype device ndim layout is_cuda is_cpu is_meta is_sparse is_quantized is_nested is_mkldnn is_mps is_xpu "
    "requires_grad is_leaf grad_fn names _version itemsize nbytes output_nr retains_grad"
)
# Positional arguments that a reader wants to see with the op, by their position.
SHOWN = {
    "cat": {1: "dim"}, "concat": {1: "dim"}, "concatenate": {1: "dim"}, "stack": {1: "dim"},
    "chunk": {1: "chunks", 2: "dim"}, "split": {1: "size", 2: "dim"}, "unbind": {1: "dim"},
    "mean": {1: "dim"}, "sum": {1: "dim"}, "amax": {1: "dim"}, "max": {1: "dim"}, "softmax": {1: "dim"},
    "flatten": {1: "start", 2: "end"}, "permute": {1: "dims"}, "transpose": {1: "dim0", 2: "dim1"},
    "view": {1: "shape"}, "reshape": {1: "shape"}, "expand": {1: "shape"}, "squeeze": {1: "dim"},
    "unsqueeze": {1: "dim"}, "pad": {1: "pad"}, "roll": {1: "shifts", 2: "dims"}, "flip": {1: "dims"},
    "interpolate": {1: "size", 2: "scale_factor", 3: "mode"}, "select": {1: "dim", 2: "index"},
    "narrow": {1: "dim", 2: "start", 3: "length"}, "einsum": {0: "equation"},
}  # fmt: skip
# All arguments from there on belong to these.
_SPREAD = _words("shape dims")
_ALIASES = {"concat": "cat", "concatenate": "cat"}


def name_of(func: Any) -> str:
    """The function's name as a user would write it: `cat`, `add`, `getitem`, `T` for a property."""
    name = plain_name(func)
    if name in ("__get__", "__set__"):
        return str(getattr(getattr(func, "__self__", None), "__name__", "attribute"))
    return name


def plain_name(func: Any) -> str:
    """`__name__`; of an operator that is called as `torch.ops.aten.add_.Tensor`, without its overload."""
    if isinstance(func, torch._ops.OpOverload):  # noqa: SLF001
        return func._schema.name.rpartition("::")[2]  # noqa: SLF001
    return getattr(func, "__name__", "") or type(func).__name__


def written_name(name: str) -> str:
    """Operators by their word (`__getitem__` -> `getitem`), synonyms by one of them."""
    if name.startswith("__") and name.endswith("__"):
        return name[2:-2]
    return _ALIASES.get(name, name.lstrip("_") if name.startswith("_foreach") else name)


def detail_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """`"dim=1"`: the plain arguments worth showing."""
    shown = SHOWN.get(name)
    if shown is None:
        return ""
    given = [(word, args[i:] if word in _SPREAD else args[i]) for i, word in shown.items() if i < len(args)]
    given += [(word, kwargs[word]) for word in shown.values() if word in kwargs]
    return _detail(name, tuple([(word, _settled(value)) for word, value in given]), kwargs.get("axis"))


def _settled(value: Any) -> Any:
    """What a cache may keep: numbers, words, and tuples of them; None for the rest."""
    kind = type(value)
    if kind is int or kind is str or kind is float or kind is bool:
        return value
    if kind is tuple or kind is list or kind is torch.Size:
        return tuple([_settled(item) for item in value])
    return None


@lru_cache(maxsize=4096)
def _detail(name: str, given: tuple[tuple[str, Any], ...], axis: Any) -> str:
    parts = [f"{word}={_plain(_alone(value))}" for word, value in given if _is_plain(_alone(value))]
    if not parts and name in ("cat", "concat", "concatenate", "stack"):
        parts = [f"dim={0 if axis is None else axis}"]
    return ", ".join(parts)


def _alone(value: Any) -> Any:
    """`view((2, 3))` says the same as `view(2, 3)`."""
    return value[0] if isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], tuple) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) <= 6 and all(_is_plain(item) for item in value)
    return isinstance(value, (bool, int, float, str))


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(_plain(item) for item in value) + ("," if len(value) == 1 else "") + ")"
    return str(value)
