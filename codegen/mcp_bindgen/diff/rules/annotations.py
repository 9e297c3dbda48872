"""Rules on what a schema says beside its types: descriptions, deprecations, constants, its dialect, its revision."""

import re
from collections import Counter
from collections.abc import Callable

from mcp_bindgen.diff.rule import (
    NO_ACTION,
    NOTHING,
    Reading,
    Rule,
    SourceBreak,
    added,
    changed,
    on,
    pair,
    replaced,
)
from mcp_bindgen.diff.sites import ConstantSite, DefaultSite, DeprecationSite, SchemaSite, TextSite
from mcp_bindgen.findings.severity import Severity

MAX_EXCERPT = 80
"""The number of characters of a description that a finding shows, starting near the first difference."""
CONTEXT = 20
"""The number of characters shown before the first difference."""

_REQUIREMENT = re.compile(r"\b(?:(?:MUST|SHALL|SHOULD)(?: NOT)?|MAY)\b")
"""The RFC 2119 keywords that MCP uses; they are requirements only in capitals (RFC 8174)."""
_REVISION_IN_LINK = re.compile(r"(?<=/)(?:\d{4}-\d{2}-\d{2}|draft|latest)(?![\w.-])")

DEPRECATED_ADDED, DEPRECATED_REMOVED = pair(
    ("deprecated-added", "A definition or property was deprecated."),
    ("deprecated-removed", "A definition or property is no longer deprecated."),
    check=added(DeprecationSite, lambda _: "deprecated"),
    advice=("Plan to stop using it.", NO_ACTION),
)


def _requirements(site: TextSite) -> Reading | None:
    before, after = Counter(_REQUIREMENT.findall(site.before)), Counter(_REQUIREMENT.findall(site.after))
    return (_counted(before), _counted(after)) if before != after else None


def _counted(words: Counter[str]) -> str:
    return ", ".join(f"{word} {number}" for word, number in sorted(words.items())) or NOTHING


def _described(site: TextSite) -> Reading | None:
    is_new = not site.before and not _requirements(site)
    return (NOTHING, excerpt(site.after, 0)) if is_new and site.after else None


def _reworded(*, links: bool) -> Callable[[TextSite], Reading | None]:
    def read(site: TextSite) -> Reading | None:
        old, new = site.before, site.after
        if not old or not new or old == new or _requirements(site):
            return None
        if (_REVISION_IN_LINK.sub("", old) == _REVISION_IN_LINK.sub("", new)) is not links:
            return None
        start = first_difference(old, new)
        return excerpt(old, start), excerpt(new, start)

    return read


def first_difference(old: str, new: str) -> int:
    """Return the index at which to start showing two texts: a few words before they differ."""
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return old.rfind(" ", 0, max(0, start - CONTEXT)) + 1


def excerpt(text: str, start: int) -> str:
    """Return the part of a text that a finding shows."""
    shown = text[start : start + MAX_EXCERPT]
    return f"{'...' if start else ''}{shown}{'...' if start + MAX_EXCERPT < len(text) else ''}"


DESCRIPTION_ADDED, DESCRIPTION_REMOVED = pair(
    ("description-added", "A description was added."),
    ("description-removed", "A description was removed."),
    check=on(TextSite, _described),
)
DESCRIPTION_CHANGED = Rule(
    id="description-changed",
    purpose="A description was reworded without changing its number of requirements.",
    advice="Read the new description.",
    check=on(TextSite, _reworded(links=False)),
)
DESCRIPTION_REQUIREMENTS_CHANGED = Rule(
    id="description-requirements-changed",
    purpose="The number of MUST, SHOULD or MAY statements in a description changed.",
    advice="Read the new requirements.",
    check=on(TextSite, _requirements),
    severity=Severity.WARNING,
)
DESCRIPTION_LINKS_CHANGED = Rule(
    id="description-links-changed",
    purpose="Links in a description point to another revision; nothing else changed.",
    check=on(TextSite, _reworded(links=True)),
)


def _shortened(text: str) -> str:
    return excerpt(text, 0) or NOTHING


DEFAULT_CHANGED = Rule(
    id="default-changed",
    purpose="The default value of a property changed.",
    advice="Send the value explicitly instead of relying on the default.",
    check=on(DefaultSite, lambda s: (_shortened(s.before), _shortened(s.after)) if s.before != s.after else None),
    severity=Severity.WARNING,
)
CONSTANT_ADDED, CONSTANT_REMOVED = pair(
    ("constant-added", "A constant other than an error code was added."),
    ("constant-removed", "A constant other than an error code was removed."),
    check=added(ConstantSite),
    advice=(NO_ACTION, "Remove imports of it."),
    breaks_source=(False, True),
)
CONSTANT_CHANGED = SourceBreak(
    id="constant-changed",
    purpose="The value of a constant other than an error code changed.",
    advice="Use the constant's name, not its value.",
    check=replaced(ConstantSite),
)


DIALECT_CHANGED = Rule(
    id="dialect-changed",
    purpose="The schema uses a different JSON Schema dialect.",
    advice="Use a validator that supports the new dialect.",
    check=changed(SchemaSite),
)
DEFINITIONS_CONTAINER_RENAMED = Rule(
    id="definitions-container-renamed",
    purpose="The definitions moved to a different keyword.",
    advice="Update JSON pointers into the schema.",
    check=changed(SchemaSite),
)
PROTOCOL_VERSION_CHANGED = Rule(
    id="protocol-version-changed",
    purpose="The revision date changed: peers that negotiate a version never mix the two.",
    advice="Negotiate the revision.",
    check=changed(SchemaSite),
)
SAME_REVISION_CHANGED = Rule(
    id="same-revision-changed",
    purpose="The text of a revision changed without a new date.",
    advice="Record the SHA-256 of the file that you use.",
    check=changed(SchemaSite),
    severity=Severity.WARNING,
)
