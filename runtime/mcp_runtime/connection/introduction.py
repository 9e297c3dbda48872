"""What each request of a modern-era client carries about its sender, made and encoded once."""

from collections.abc import Mapping
from copy import copy
from typing import Any, Final

from mcp_runtime.json_text import finite

_META: Final = {"meta"}  # not a frozenset, which pydantic converts each time


class Introduction:
    """The `_meta` of the requests that carry nothing else in it.

    Args:
        required: what every request must carry, keyed by wire names.
        type_: the generated type of it, a pydantic model.

    Attributes:
        required: what every request must carry, keyed by wire names.
        model: the same as a model, which requests share: nobody may change it.
    """

    __slots__ = ("_start", "model", "required")

    def __init__(self, required: Mapping[str, Any], type_: Any) -> None:
        self.required = required
        self.model = type_.model_validate(dict(required))
        self._start = b'{"_meta":%b,' % finite(self.model.__pydantic_serializer__.to_json(self.model))

    def is_in(self, params: Any) -> bool:
        """Whether params share the model."""
        return getattr(params, "meta", None) is self.model

    def encode(self, params: Any) -> bytes:
        """Encode params that share the model.

        Raises:
            ValueError: a number in them is not finite.
        """
        rest = finite(params.__pydantic_serializer__.to_json(params, exclude=_META))
        return self._start + rest[1:] if len(rest) > len(b"{}") else self._start[:-1] + b"}"

    def detached(self, params: Any) -> Any:
        """Return the same params with a `_meta` of their own, for code that may change it."""
        return params.model_copy(update={"meta": copy(self.model)}) if self.is_in(params) else params
