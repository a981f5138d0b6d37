"""A cache bounded by bytes: the least recently used go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from ..records import Summary

Value = TypeVar("Value")


class ByteCache(Generic[Value]):
    """Safe to use from several threads. A value larger than `limit` is not kept."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    @property
    def bytes(self) -> int:
        return self._bytes

    def get(self, key: Hashable) -> Value | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """`size` in bytes."""
        with self._lock:
            old = self._entries.pop(key, None)
            if old is not None:
                self._bytes -= old[1]
            if size > self.limit:
                return
            self._entries[key] = (value, size)
            self._bytes += size
            while self._bytes > self.limit:
                _, (_, freed) = self._entries.popitem(last=False)
                self._bytes -= freed

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._bytes = 0


def picture_bytes(summary: Summary) -> int:
    """Roughly what a summary takes, most of which is its picture."""
    values = getattr(summary.picture, "values", None)
    return 2_048 + (values.nbytes if values is not None else 0)
