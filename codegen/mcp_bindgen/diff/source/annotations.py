"""Compare what two revisions say apart from their types: descriptions, deprecations, dialect, date."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mcp_bindgen.diff.finding import Finding, Subject
from mcp_bindgen.diff.inputs import UNNAMED, is_typescript
from mcp_bindgen.diff.rules import judge
from mcp_bindgen.diff.rules.annotations import (
    DEFINITIONS_CONTAINER_RENAMED,
    DIALECT_CHANGED,
    PROTOCOL_VERSION_CHANGED,
    SAME_REVISION_CHANGED,
)
from mcp_bindgen.diff.sites import ConstantSite, DefaultSite, DeprecationSite, SchemaSite, TextSite
from mcp_bindgen.diff.source.matched import Matched, declared_fields, is_inline
from mcp_bindgen.ir.nodes import Alias, Definition, Field, Protocol, Ref, Struct

_ERROR_CODES = range(-32768, -31999)
"""The range that JSON-RPC reserves for error codes (specification of JSON-RPC 2.0, section 5.1)."""
_REVISION = "LATEST_PROTOCOL_VERSION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """The annotations of a type: its description in the input file, whether it is deprecated, its default."""

    subject: Subject
    doc: str
    deprecated: bool
    default: str


def compare_annotations(sides: Matched) -> Iterator[Finding]:
    """Iterate over the changes of annotations, for all definitions that both sides have.

    Descriptions are compared only if the input files of both sides have some: the shipped structures have none, and
    this project's own descriptions are not part of the protocol.
    """
    prose = _has_prose(sides.old) and _has_prose(sides.new)
    tags = _has_tags(sides.old, sides.new)
    for old, new in sides.pairs():
        for subject, site in _born_deprecated(old, new) if tags else ():
            yield from sides.findings(site, None, subject)
        for subject, site in _left_deprecated(old, new) if tags else ():
            yield from sides.findings(site, subject, None)
        for before, after in _said(old, new, sides):
            if tags:
                site = DeprecationSite(before=before.deprecated, after=after.deprecated)
                yield from sides.findings(site, before.subject, after.subject)
            if not sides.mixed:
                default = DefaultSite(before=before.default, after=after.default)
                yield from sides.findings(default, before.subject, after.subject)
            if prose and not _is_lost(before, after, sides):
                text = TextSite(before=before.doc, after=after.doc)
                yield from sides.findings(text, before.subject, after.subject)


def _born_deprecated(old: Definition, new: Definition) -> Iterator[tuple[Subject, DeprecationSite]]:
    """Iterate over the new properties that are already deprecated."""
    if isinstance(old, Struct) and isinstance(new, Struct):
        for field in new.fields:
            if field.deprecated and field.wire_name in new.own and old.field(field.wire_name) is None:
                subject = Subject(definition=new.name, member=field.wire_name)
                yield subject, DeprecationSite(before=False, after=True)


def _left_deprecated(old: Definition, new: Definition) -> Iterator[tuple[Subject, DeprecationSite]]:
    """Iterate over the deprecated properties that were removed."""
    for subject, site in _born_deprecated(new, old):
        yield subject, DeprecationSite(before=site.after, after=site.before)


def _said(old: Definition, new: Definition, sides: Matched) -> Iterator[tuple[Annotations, Annotations]]:
    """Iterate over the annotations of two definitions and their properties; inline objects share their property's."""
    if not is_inline(old) and not is_inline(new):
        yield _of(old, None, sides.old), _of(new, None, sides.new)
    if isinstance(old, Struct) and isinstance(new, Struct):
        for field, other in declared_fields(old, new):
            yield _of(old, field, sides.old), _of(new, other, sides.new)


def _of(definition: Definition, field: Field | None, protocol: Protocol) -> Annotations:
    subject = Subject(definition=definition.name, member=field.wire_name if field else "")
    of = field or definition
    name = f"{definition.name}.{field.wire_name}" if field else definition.name
    own = "" if name in protocol.glossed else " ".join(of.doc.split())
    default = field.default if field else ""
    return Annotations(subject=subject, doc=own, deprecated=of.deprecated, default=default)


def _is_lost(old: Annotations, new: Annotations, sides: Matched) -> bool:
    """Whether one side lacks the description of a reference, as draft-07 ignores keywords next to $ref."""
    for said, protocol in (old, sides.old), (new, sides.new):
        definition = protocol.definitions[said.subject.definition]
        bare = not said.subject.member and isinstance(definition, Alias) and isinstance(definition.type, Ref)
        if bare and not said.doc and protocol.container:
            return True
    return False


def _has_prose(protocol: Protocol) -> bool:
    """Whether the file that a revision was read from has any descriptions."""
    for name, definition in protocol.definitions.items():
        fields = definition.fields if isinstance(definition, Struct) else ()
        docs = {name: definition.doc, **{f"{name}.{f.wire_name}": f.doc for f in fields}}
        if any(doc and key not in protocol.glossed for key, doc in docs.items()):
            return True
    return False


def _has_tags(old: Protocol, new: Protocol) -> bool:
    """Whether both sides can mark deprecations: usually only schema.ts has the tag."""
    knows = [is_typescript(side) for side in (old, new)]
    return knows[0] == knows[1] or all(knows[i] or _deprecates(side) for i, side in enumerate((old, new)))


def _deprecates(protocol: Protocol) -> bool:
    return any(d.deprecated for d in protocol.definitions.values()) or any(
        field.deprecated for struct in protocol.structs() for field in struct.fields
    )


def compare_files(sides: Matched, *, changed: bool) -> Iterator[Finding]:
    """Iterate over the changes of the schema as a file: its dialect, its container, its revision.

    `changed` says whether anything else changed: only then does it matter that the files of a revision differ.
    """
    old, new = sides.old, sides.new
    if old.dialect and new.dialect and old.dialect != new.dialect:
        yield from _general(DIALECT_CHANGED.id, "$schema", (old.dialect, new.dialect), "/$schema")
    if old.container and new.container and old.container != new.container:
        readings = old.container, new.container
        yield from _general(DEFINITIONS_CONTAINER_RENAMED.id, new.container, readings, f"/{new.container}")
    yield from _constants(sides)
    if UNNAMED in (old.revision, new.revision):
        return
    if old.revision != new.revision:
        yield from _general(PROTOCOL_VERSION_CHANGED.id, "revision", (old.revision, new.revision))
    elif changed and _digests(old) != _digests(new):
        yield from _general(SAME_REVISION_CHANGED.id, "revision", (_digests(old), _digests(new)))


def _general(rule: str, place: str, readings: tuple[str, str], pointer: str = "") -> Iterator[Finding]:
    """Apply the rules to a feature of the schema itself."""
    for found, (old, new) in judge(SchemaSite(rule=rule, before=readings[0], after=readings[1])):
        yield Finding(rule=found, place=place, old=old, new=new, pointer=pointer)


def _constants(sides: Matched) -> Iterator[Finding]:
    """Compare the constants that only schema.ts has, except for error codes, which are sent, and the revision."""
    if not (is_typescript(sides.old) and is_typescript(sides.new)):
        return
    before, after = ({c.name: json.dumps(c.value) for c in side.constants} for side in (sides.old, sides.new))
    codes = {c.name for side in (sides.old, sides.new) for c in side.constants if c.value in _ERROR_CODES}
    for name in sorted((before.keys() | after.keys()) - codes - {_REVISION}):
        if before.get(name) != after.get(name):
            site = ConstantSite(before=before.get(name), after=after.get(name))
            subjects = [Subject(definition=name) if name in side else None for side in (before, after)]
            yield from (replace(finding, pointer="") for finding in sides.findings(site, *subjects))


def _digests(protocol: Protocol) -> str:
    return ", ".join(f"{source.kind} {source.sha256[:16]}" for source in protocol.sources)
