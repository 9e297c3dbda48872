"""Which changes the text of a proposal does not mention."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.rule import View
from mcp_bindgen.ingest.sources import read_bytes
from mcp_bindgen.ir.nodes import Method, Protocol

_ABOUT_FILES = frozenset({"same-revision-changed", "protocol-version-changed", "dialect-changed"})
"""The rules about the file as a whole, which no text names."""
_CODE = re.compile(r"```.*?```|`[^`\n]+`|\"[^\"\n]+\"", re.DOTALL)
_PLAIN = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmentioned:
    """A change of one kind to everything of one name: the rule, the name, the change, where, and a message as proof."""

    rule: str
    name: str
    old: str
    new: str
    places: tuple[str, ...]
    message: Any = None


def unmentioned(
    findings: Sequence[Finding], text: str, declared: frozenset[str], sides: Sequence[Protocol]
) -> tuple[Unmentioned, ...]:
    """Return the changes none of whose names is in a text, those of one kind to one name together.

    A name that is also an English word counts only in code or quotes; a message is named by its method too. `declared`
    are the types that a schema.ts declares: those that only the bindings name are left out.
    """
    code = " ".join(_CODE.findall(text))
    methods = {name: method.name for side in sides for method in side.methods for name in _types(method)}
    missing = [
        (finding, names[0])
        for finding in findings
        if (names := tuple(_names(finding, declared, methods)))
        if not any(_is_in(name, code if _PLAIN.fullmatch(name) else text) for name in names)
    ]
    missing.sort(key=_order)
    groups = ((key, [finding for finding, _ in group]) for key, group in groupby(missing, _order))
    return tuple(_joined(rule, name, found) for (_, rule, name), found in groups)


def _order(each: tuple[Finding, str]) -> tuple[bool, str, str]:
    """Sort changes in messages before those in definitions alone."""
    finding, name = each
    return finding.rule.view is not View.WIRE, finding.rule.id, name


def _types(method: Method) -> Iterator[str]:
    """Iterate over the types that belong to a method."""
    for name in (method.message, method.params, method.result):
        if name:
            yield from (name, f"{name}Response")


def _joined(rule: str, name: str, findings: Sequence[Finding]) -> Unmentioned:
    places = tuple(finding.now or finding.place for finding in findings)
    messages = [message for finding in findings for message in finding.witnesses.values()]
    old, new = findings[0].old, findings[0].new
    return Unmentioned(rule=rule, name=name, old=old, new=new, places=places, message=next(iter(messages), None))


def _names(finding: Finding, declared: frozenset[str], methods: Mapping[str, str]) -> Iterator[str]:
    """Iterate over the names that a text about a change would use, most of all the first."""
    rule = finding.rule.id
    if rule in _ABOUT_FILES or rule.startswith("description-"):
        return
    if finding.is_about_method:
        yield from (name for name in (finding.new, finding.old) if name != "-")
        return
    subject = finding.after or finding.before
    if subject is None:
        return
    if subject.member:
        yield subject.member
    elif rule.startswith(("error-code-", "constant-")):
        yield from (name for name in (subject.definition, finding.new, finding.old) if name != "-")
    elif subject.definition in declared:
        yield subject.definition
        if method := methods.get(subject.definition):
            yield method
    if rule.startswith(("union-member-", "result-")):
        yield from re.findall(r"[A-Z]\w+", f"{finding.new} {finding.old}")


def _is_in(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def read_prose(path: Path) -> str:
    """Read the text of a proposal.

    Raises:
        InputError: it cannot be read.
    """
    return read_bytes(path, str(path)).decode("utf-8", "replace")
