"""A changed order of params: found where, and only where, a call by position passes something else."""

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.rules.definitions import PARAMS_REORDERED
from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.impact.bindings import RevisionBindings
from mcp_bindgen.impact.marks import Marks, UseKind
from mcp_bindgen.ir.nodes import Protocol
from support.findings import definitions_between
from support.samples import REVISIONS
from support.source_view import read

BASE = "export interface Base { fromBase: string; maybe?: string; _meta?: object; }"
PROPERTIES = (
    "a: string;",
    "b: string;",
    "b?: string;",
    "c?: string;",
    "d?: unknown;",
    'kind: "x";',
    "cursor?: string;",
)


def asking(params: list[str], *, extends: bool) -> str:
    """A schema with a request and a notification that have these params."""
    return (
        'export interface DoRequest { method: "do"; params: DoRequestParams; } export interface DoResult { }'
        ' export interface DoneNotification { method: "notifications/done"; params: DoRequestParams; }'
        " export type ServerRequest = DoRequest; export type ServerNotification = DoneNotification;"
        f" {BASE} export interface DoRequestParams {'extends Base ' * extends}{{ {' '.join(params)} }}"
    )


def drawn(rng: random.Random) -> list[str]:
    chosen = rng.sample(PROPERTIES, rng.randrange(1, 6))
    names = [text.partition(":")[0].rstrip("?") for text in chosen]
    return [text for text, name in zip(chosen, names, strict=True) if names.index(name) == chosen.index(text)]


def pairs(number: int) -> Iterator[tuple[Protocol, Protocol]]:
    rng = random.Random(5)
    for _ in range(number):
        params = drawn(rng)
        others = rng.choice((drawn(rng), rng.sample(params, len(params)), [*params, "z?: string;"], params[:-1]))
        texts = (asking(each, extends=rng.random() < 0.5) for each in (params, others))
        old, new = (read(text) for text in texts)
        yield old, new


def found(old: Protocol, new: Protocol) -> list[Finding]:
    return [f for f in compare_definitions(old, new) if f.rule is PARAMS_REORDERED]


def order(package: RevisionBindings, function: str) -> list[str]:
    """Return the parameters that a generated function takes by position."""
    return [each.field for each in package.stubs["ConnectedClient"][function].signature.positional if each.field]


def properties(package: RevisionBindings) -> set[str]:
    return {field.name for field in package.classes["DoRequestParams"].every_field}


@pytest.mark.parametrize("function", ["do", "notify_done"])
def test_it_is_found_where_a_call_by_position_passes_other_properties(function: str, cases: int) -> None:
    """Judged by the generated signatures: arguments that still exist arrive as others, or are too many."""
    broken = 0
    for old, new in pairs(300 if cases >= 3000 else 40):
        before, after = RevisionBindings(old), RevisionBindings(new)
        kept = [name for name in order(before, function) if name in properties(after)]
        changed = kept != order(after, function)[: len(kept)]
        assert bool(found(old, new)) is changed, (kept, order(after, function))
        broken += changed
    assert broken > 5


def test_impact_lists_the_calls() -> None:
    old, new = (
        read(asking(params, extends=False)) for params in (["a: string;", "b: string;"], ["b: string;", "a: string;"])
    )
    marks = Marks(compare_definitions(old, new), RevisionBindings(old), RevisionBindings(new))
    affected = {str(name) for finding, name in marks.names if finding.rule is PARAMS_REORDERED}
    assert affected == {"ConnectedClient.do", "ConnectedClient.notify_done"}
    name = next(name for _, name in marks.names if name.member == "do")
    assert marks.of(name, UseKind.CALL) and not marks.of(name, UseKind.HANDLE)


def test_params_of_a_union_have_no_order() -> None:
    union = asking([], extends=False).replace("params: DoRequestParams", "params: Forms")
    forms = 'export interface A {{ kind: "a"; {} }} export interface B {{ kind: "b"; }} export type Forms = A | B;'
    one, other = (read(union + forms.format(text)) for text in ("a: string; b: string;", "b: string; a: string;"))
    assert found(one, other) == []


def test_no_released_revision_changes_the_order() -> None:
    pairs_of = pairwise(REVISIONS)
    assert [f.place for pair in pairs_of for f in definitions_between(*pair) if f.rule is PARAMS_REORDERED] == []
