"""The catalogue: what all servers of a host offer, under names that are unique among them."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from types import MappingProxyType
from typing import Any, Final

from mcp_runtime.core.json.values import is_object

MAX_NAME: Final = 64
"""The longest name of a tool that models accept, in characters."""
_DIGITS: Final = 16
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9-]+")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")
_DIGESTED: Final = re.compile(rf"_[0-9a-f]{{{_DIGITS}}}\Z")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
# Robertson et al. (1994): how fast a repeated word stops counting, and how much the length of a text matters.
_K1, _B = 1.2, 0.75


def public_name(server: str, tool: str) -> str:
    """Return the name of a server's tool in the catalogue: ``server__tool``.

    It consists of at most 64 characters of [A-Za-z0-9_-] and depends on nothing but the two names. No two tools share
    one: where a name is cut, altered, or could be split in two ways, it ends with a digest of both.
    """
    name = f"{server}__{tool}"
    # The first "__" of a name is the border, so it must not be earlier or longer.
    is_clear = "__" not in server and not server.endswith("_") and not tool.startswith("_")
    if is_clear and len(name) <= MAX_NAME and _PLAIN.fullmatch(name) and not _DIGESTED.search(name):
        return name
    digest = hashlib.sha256(json.dumps([server, tool]).encode()).hexdigest()[:_DIGITS]
    first = _FOREIGN.sub("_", server)[: MAX_NAME // 3].strip("_") or "server"
    second = re.sub(r"[^A-Za-z0-9_-]+", "_", tool).lstrip("_")
    return f"{f'{first}__{second}'[: MAX_NAME - _DIGITS - 1]}_{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTool:
    """A tool of one of the servers. Annotations are the server's own claims: they need not be true.

    Attributes:
        name: its name in the catalogue, for the model.
        server: the name of its server in the configuration.
        raw: the tool as the server listed it, keyed by wire names.
        schema_text: the JSON Schema of its arguments, as text.
        is_trusted: whether decisions may rely on its annotations, since the configuration trusts its server.
    """

    name: str
    server: str
    raw: Mapping[str, Any]
    schema_text: str = "{}"
    is_trusted: bool = False

    @property
    def tool(self) -> str:
        """Its name on the server."""
        return str(self.raw["name"])

    @property
    def description(self) -> str:
        """What the server says that it does; may be empty."""
        found = self.raw.get("description") or self.raw.get("title")
        return found if isinstance(found, str) else ""

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of its arguments."""
        found: Mapping[str, Any] = json.loads(self.schema_text)
        return found

    def hint(self, name: str) -> bool:
        """Return whether one of its annotations is true, and its server trusted: those of others decide nothing.

        Args:
            name: the annotation: ``readOnlyHint``, ``idempotentHint``.
        """
        annotations = self.raw.get("annotations")
        return self.is_trusted and is_object(annotations) and annotations.get(name) is True


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerListing:
    """What one server offers, as it listed it.

    Attributes:
        tools: its tools.
        prompts: its prompts.
        resources: its resources.
        templates: its resource templates.
        until: when the lists expire, in seconds of the monotonic clock; infinite if the server does not say.
        is_stale: whether the latest attempt to fetch them failed.
        is_trusted: whether the configuration trusts the server.
    """

    tools: Sequence[Mapping[str, Any]] = ()
    prompts: Sequence[Mapping[str, Any]] = ()
    resources: Sequence[Mapping[str, Any]] = ()
    templates: Sequence[Mapping[str, Any]] = ()
    until: float = field(default=float("inf"), compare=False)
    is_stale: bool = False
    is_trusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue(Mapping[str, HostTool]):
    """An immutable snapshot of what all servers offer: the tools by their name in it, sorted.

    Attributes:
        number: counts the snapshots of a host.
        tools: the same tools.
        listings: the lists of each server, by its name.
    """

    number: int
    tools: Mapping[str, HostTool] = field(default_factory=lambda: MappingProxyType({}))
    listings: Mapping[str, ServerListing] = field(default_factory=lambda: MappingProxyType({}))

    def __getitem__(self, name: str) -> HostTool:
        return self.tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)


def tool_of(server: str, raw: Mapping[str, Any], *, is_trusted: bool = False) -> HostTool:
    """Return a tool as its server listed it."""
    schema = raw.get("inputSchema")
    text = json.dumps(schema if is_object(schema) else {"type": "object"})
    return HostTool(
        name=public_name(server, str(raw["name"])), server=server, raw=raw, schema_text=text, is_trusted=is_trusted
    )


def catalogue_of(number: int, listings: Mapping[str, ServerListing]) -> Catalogue:
    """Return the snapshot of these listings."""
    found = [
        tool_of(server, raw, is_trusted=listing.is_trusted)
        for server, listing in listings.items()
        for raw in listing.tools
    ]
    tools = {tool.name: tool for tool in sorted(found, key=lambda tool: tool.name)}
    return Catalogue(number=number, tools=MappingProxyType(tools), listings=MappingProxyType(dict(listings)))


def search(tools: Iterable[HostTool], words: str, limit: int) -> list[HostTool]:
    """Rank tools by how well their names and descriptions match words (BM25); those that share none are left out."""
    documents = [(tool, Counter(_words(f"{tool.name} {tool.name} {tool.description}"))) for tool in tools]
    lengths = [counts.total() for _, counts in documents]
    usual = sum(lengths) / max(1, len(lengths))
    wanted = set(_words(words))
    found = {word: sum(word in counts for _, counts in documents) for word in wanted}
    weights = {word: log(1 + (len(documents) - count + 0.5) / (count + 0.5)) for word, count in found.items()}

    def score(counts: "Counter[str]", length: int) -> float:
        damped = _K1 * (1 - _B + _B * length / usual)
        return sum(
            weights[word] * counts[word] * (_K1 + 1) / (counts[word] + damped) for word in wanted & counts.keys()
        )

    ranked = [(score(counts, length), tool) for (tool, counts), length in zip(documents, lengths, strict=True)]
    return [tool for points, tool in sorted(ranked, key=lambda one: (-one[0], one[1].name)) if points > 0][:limit]


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
