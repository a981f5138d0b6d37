"""`trace`, and the `Flow` that it gives: it owns the model and its inputs, orders the passes, and keeps the results."""

from .flow import Flow
from .opening import trace

__all__ = ["Flow", "trace"]
