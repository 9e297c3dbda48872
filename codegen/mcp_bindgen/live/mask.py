"""Hide secrets in what is printed of servers and messages."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp_bindgen.ir.diagnostics import clip
from mcp_bindgen.ir.json_values import is_list, is_object

if TYPE_CHECKING:
    from mcp_runtime.middleware.masking import Masker
    from mcp_runtime.middleware.trace import Traced

MASK: Final = "***"
_SCHEMAS: Final = frozenset(("inputSchema", "outputSchema", "requestedSchema"))
MAX_MESSAGE: Final = 2_000
"""How many characters of a message are shown in a trace."""
_MIN_SECRET: Final = 4
"""How many characters a secret of the command line has at least to be looked for in what is printed."""


@dataclass(frozen=True)
class Mask:
    """Hides secrets: those of the command line wherever they are, others by their names and forms.

    Attributes:
        secrets: the values of the command line that are secret, longest first; None to hide nothing.
    """

    secrets: tuple[str, ...] | None

    @classmethod
    def off(cls) -> "Mask":
        """Return one that hides nothing."""
        return cls(None)

    @classmethod
    def of(cls, headers: Mapping[str, str], env: Mapping[str, str]) -> "Mask":
        """Return one for a server that is reached with these headers or environment variables."""
        from mcp_runtime.middleware.masking import Masker

        masker = Masker()
        values = [value for name, value in (*headers.items(), *env.items()) if masker.is_secret(name)]
        # "Bearer x" is a secret as a whole, and its last word alone.
        words = [word for value in values for word in (value, value.rpartition(" ")[2]) if len(word) >= _MIN_SECRET]
        return cls(tuple(sorted(set(words), key=len, reverse=True)))

    def listing(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return what a server lists; its names are kept, since a tool may have an argument ``token``."""
        return self._masked(value, by_name=False)

    def result(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a request."""
        return self._masked(value, by_name=True)

    def text(self, text: str) -> str:
        """Return a text without the secrets of the command line."""
        for secret in self.secrets or ():
            text = text.replace(secret, MASK)
        return text

    def _masked(self, value: dict[str, Any], *, by_name: bool) -> dict[str, Any]:
        if self.secrets is None:
            return value
        from mcp_runtime.middleware.masking import Masker

        masker = Masker() if by_name else Masker(secrets=())
        masked: dict[str, Any] = masker.mask(self._without(value))
        return masked

    def _without(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if is_object(value):
            return {name: self._without(inner) for name, inner in value.items()}
        return [self._without(inner) for inner in value] if is_list(value) else value


def masked_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line without their secrets."""
    from mcp_runtime.middleware.masking import Masker

    found: list[str] = Masker().mask(list(words))
    return found


def traced_text(record: "Traced", mask: Mask) -> str:
    """Spell a message that passed."""
    message = json.dumps(record.message, ensure_ascii=False) if record.message is not None else "(not shown)"
    return mask.text(f"{record}\n    {clip(message, MAX_MESSAGE)}")


def message_mask() -> "Masker":
    """Return what masks messages; in JSON Schemas by forms alone, since a tool may have an argument ``token``."""
    from mcp_runtime.middleware.masking import Masker

    by_form = Masker(secrets=())

    class MessageMasker(Masker):
        def mask(self, value: Any) -> Any:
            if not is_object(value) or not _SCHEMAS & value.keys():
                return super().mask(value)
            masked = super().mask({name: each for name, each in value.items() if name not in _SCHEMAS})
            return {name: by_form.mask(each) if name in _SCHEMAS else masked[name] for name, each in value.items()}

    return MessageMasker()
