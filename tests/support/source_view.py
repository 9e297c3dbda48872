"""Cases for the rules of the source view: two schemas, and all findings between them."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.inputs import UNNAMED
from mcp_bindgen.diff.rule import View
from mcp_bindgen.diff.rules import RULES
from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.nodes import Protocol
from support.samples import load, typescript_source

Found: TypeAlias = tuple[str, str, str, str]
"""The id of a rule, the place, the old reading and the new one."""

Text: TypeAlias = str | Mapping[str, Any]
"""A schema.ts without its handshake, or a whole schema.json."""

START = """
export interface InitializeRequest { method: "initialize"; params: { protocolVersion: string }; }
export interface InitializeResult { protocolVersion: string; }
export type ClientRequest = InitializeRequest;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Two schemas and all findings of the source view between them; by default their revisions are unknown."""

    old: Text
    new: Text
    found: tuple[Found, ...]
    revisions: tuple[str, str] = (UNNAMED, UNNAMED)

    @property
    def sides(self) -> tuple[Protocol, Protocol]:
        """The two schemas, loaded."""
        return read(self.old, self.revisions[0]), read(self.new, self.revisions[1])

    def back(self) -> "Case":
        """Return the case with the sides swapped, and the rules replaced by their mirrors."""
        found = tuple((RULES[rule].mirror, place, new, old) for rule, place, old, new in self.found)
        return Case(old=self.new, new=self.old, found=found, revisions=(self.revisions[1], self.revisions[0]))


def read(text: Text, revision: str = UNNAMED) -> Protocol:
    """Load a valid schema."""
    if isinstance(text, str):
        source = typescript_source(START + text)
    else:
        source = SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(text).encode())
    protocol, diagnostics = load(source, revision=revision)
    assert all(re.search("no type expresses|may be an integer or not", line) for line in diagnostics)
    return protocol


def found(findings: Iterable[Finding]) -> list[Found]:
    """Describe the findings in the notation of the cases."""
    return [(f.rule.id, f.place, f.old, f.new) for f in findings]


def check(rule: str, case: Case) -> None:
    """Check that exactly the findings of a case are found, and that no other rule's finding is as severe."""
    old, new = case.sides
    findings = compare_definitions(old, new)
    assert found(findings) == sorted(case.found)
    hits = [f for f in findings if f.rule.id == rule]
    assert hits
    levels = [*Severity]
    assert all(levels.index(f.severity) > levels.index(hits[0].severity) for f in findings if f not in hits)
    assert all(f.rule.view is View.SOURCE and not f.carriers and not f.breaks for f in findings)
    assert compare_messages(old, new) == ()
