"""The laws of bridging, over messages of every method and every ordered pair of the legacy revisions."""

import copy
import json
from functools import cache
from typing import Any

import pytest

from bridge.messages import (
    PAIRS,
    REVISIONS,
    UP,
    Part,
    accepts,
    bridges,
    conversions,
    direct,
    direct_table,
    parts,
    runtime_table,
    valid_messages,
)
from differential.subjects import REFUSED, subject
from differential.values import Json, Path, at, differences, is_map
from mcp_bindgen.diff.rule import View
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindings.bridges import ERAS
from mcp_runtime.bridge.convert import Compiled
from mcp_runtime.bridge.eras import said_in, without_meta
from mcp_runtime.bridge.policy import Loss, LossAction, NotExpressible
from mcp_runtime.bridge.revisions import Conversions
from mcp_runtime.core.protocol import names

SAID_IN_STEPS = ("structured_value", "structured_content", "elicitation_id")
"""The kinds of which a step says more than the direct way: as a text, which the next one describes; or by a new id."""
SAID: dict[str, Any] = {
    names.VERSION: "2026-07-28",
    names.CLIENT_CAPABILITIES: {"roots": {}},
    names.CLIENT_INFO: {"name": "law", "version": "1"},
}
"""What requests of the modern era say of their sender."""


@pytest.fixture
def count(cases: int) -> int:
    """How many messages a law tries per part of a method and pair of revisions: 40 in `make test-all`."""
    return max(cases // 75, 4)


def convert(found: Conversions, part: Part, value: Json, losses: list[Loss] | None = None) -> Json:
    """Convert a part, and adapt the `_meta` of requests as the ends of a bridge between the eras do."""
    outcome = _convert(found, part, value, losses)
    if part.part != "params" or not _crosses(found) or not is_map(outcome):
        return outcome
    if not found.up:
        return json.loads(without_meta(json.dumps(outcome).encode())[0])
    if part.method not in addressed():
        return outcome
    return said_in(outcome, SAID)


def _crosses(found: Conversions) -> bool:
    return any(ERAS[table.old] != ERAS[table.new] for table in found.tables)


@cache
def addressed() -> frozenset[str]:
    """Return the requests that must declare their sender's revision."""
    protocol = subject(REVISIONS[-1]).protocol
    needy = {struct.name for struct in protocol.structs() if (f := struct.field("_meta")) is not None and f.required}
    return frozenset(method.name for method in protocol.methods if method.params in needy)


@cache
def filled() -> frozenset[str]:
    """Return the properties of results whose values are the defaults for absent ones."""
    return frozenset(
        name for bridge in bridges() for node in runtime_table(bridge).nodes.values() for name in node.fill_new
    )


def plain(value: Json, of: Json) -> Json:
    """Return a message without properties that conversion added or that only one era has."""
    if not is_map(value) or not is_map(of):
        return value
    kept = {name: inner for name, inner in value.items() if name in of or name not in filled()}
    said = kept.get("_meta")
    if is_map(said):
        rest = {name: inner for name, inner in said.items() if names.PREFIX not in name}
        kept = {**kept, "_meta": rest} if rest else {n: inner for n, inner in kept.items() if n != "_meta"}
    return kept


def _convert(found: Conversions, part: Part, value: Json, losses: list[Loss] | None) -> Json:
    converter = found.converter(part.method, part.part)
    if converter is None:
        return value
    copied = copy.deepcopy(value)
    if not converter.concerns(json.dumps(value, ensure_ascii=False).encode()):
        # Messages that the runtime skips must not need conversion.
        reported: list[Loss] = []
        outcome = converter.convert(copied, reported.append)
        added: Json = {**value, **converter.fill} if is_map(value) else value
        assert not list(differences(outcome, added)) and not reported
        assert json.loads(converter.filled(json.dumps(value).encode())) == outcome
        return outcome
    return converter.convert(copied, losses.append if losses is not None else _ignore)


@cache
def _gone(old: str, new: str) -> frozenset[str]:
    """Return the kinds of features that only the older of two revisions has."""
    return frozenset(e.kind for b in bridges() if old <= b.old < new for e in b.entries if e.up)


def _ignore(loss: Loss) -> None:
    """Ignore a loss."""


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_converted_messages_are_valid_in_the_other_revision(source: str, target: str, count: int) -> None:
    found, judged = conversions(source, target), subject(target)
    refused = tried = 0
    for part in parts(source, target):
        for value in valid_messages(source, part, count):
            tried += 1
            losses: list[Loss] = []
            try:
                outcome = convert(found, part, value, losses)
            except NotExpressible as error:
                assert source > target or error.kind in _gone(source, target), f"{part}: {error}"
                assert any(loss.action is LossAction.REFUSE and loss.kind == error.kind for loss in losses)
                refused += 1
                continue
            text = json.dumps(outcome)
            assert accepts(judged, part.target, outcome), f"{part}: {value} became {outcome}"
            assert any(judged.decode(name, text) is not REFUSED for name in part.target), f"{part}: {outcome}"
    assert tried > 12 * count
    assert refused < tried / 5, "most messages must be expressible"


@pytest.mark.parametrize(("old", "new"), UP)
def test_to_a_newer_revision_and_back_is_the_identity(old: str, new: str, count: int) -> None:
    up, down = conversions(old, new), conversions(new, old)
    changed = 0
    for part in parts(old, new):
        for value in valid_messages(old, part, 3 * count):
            losses: list[Loss] = []
            try:
                newer = convert(up, part, value, losses)
            except NotExpressible:
                continue
            changed += newer != value
            if losses:
                assert {loss.kind for loss in losses} <= _gone(old, new)
                continue
            back = convert(down, part, newer, losses)
            if _is_about_capabilities(losses):
                continue
            assert not list(
                differences(plain(back, value), plain(value, value))
            ), f"{part}: {value}\nbecame {newer}\nand {back}"
            assert not losses
    assert changed or count < 40, "no message had a conflict: the law was not exercised"


@pytest.mark.parametrize(("old", "new"), UP)
def test_to_an_older_revision_and_back_loses_exactly_what_is_reported(old: str, new: str, count: int) -> None:
    up, down = conversions(old, new), conversions(new, old)
    lost = 0
    for part in parts(new, old):
        for value in valid_messages(new, part, count):
            losses: list[Loss] = []
            try:
                older = convert(down, part, value, losses)
            except NotExpressible:
                continue
            back = convert(up, part, older)
            places = [_shows_at(loss) for loss in losses]
            found = list(differences(plain(back, value), plain(value, value)))
            lost += bool(losses)
            for path in found:
                is_told = _is_filled(path, value) or any(path[: len(p)] == p[: len(path)] for p in places)
                assert is_told, f"{part}: {path} of {value} was lost"
            for place in places:
                assert any(path[: len(place)] == place[: len(path)] for path in found), f"{part}: {place} was not lost"
    assert lost or count < 40, "nothing was lost: the law was not exercised"


@pytest.mark.parametrize(("old", "new"), UP)
def test_messages_without_findings_are_not_converted(old: str, new: str) -> None:
    touched = {
        (carrier.method, carrier.part)
        for finding in compare_messages(subject(old).protocol, subject(new).protocol)
        if finding.rule.view is View.WIRE
        for carrier in finding.carriers
    }
    untouched = [part for part in parts(old, new) if (part.method, part.part) not in touched]
    assert len(untouched) > 10 or ERAS[old] != ERAS[new], "between the eras every result and most params differ"
    for part in untouched:
        for way in ((old, new), (new, old)):
            assert not conversions(*way).differs(part.method, part.part), part


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(old, new, marks=[pytest.mark.slow] if new == REVISIONS[-1] else [])
        for old, new in UP
        if REVISIONS.index(new) - REVISIONS.index(old) > 1
    ],
)
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_conversions_in_steps_equal_direct_ones(old: str, new: str, up: bool, count: int) -> None:
    source, target = (old, new) if up else (new, old)
    composed = conversions(source, target)
    at_once = Conversions([direct_table(old, new)], up=up, policy={})
    for part in parts(source, target):
        for value in valid_messages(source, part, count):
            outcomes: list[Json] = []
            losses: list[Loss] = []
            for way in (composed, at_once):
                try:
                    outcomes.append(convert(way, part, value, losses))
                except NotExpressible:
                    outcomes.append("refused")
            if any(loss.kind in SAID_IN_STEPS for loss in losses):
                continue
            assert not [
                p for p in differences(*outcomes) if not _is_filled(p, value)
            ], f"{part}: {value}\n{outcomes[0]}\n{outcomes[1]}"


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("action", [LossAction.DROP, LossAction.REFUSE])
def test_every_policy_gives_valid_messages(source: str, target: str, action: LossAction, count: int) -> None:
    kinds = {entry.kind for entry in direct(min(source, target), max(source, target)).entries}
    tables = conversions(source, target)
    strict = Conversions(tables.tables, up=tables.up, policy=dict.fromkeys(kinds - {"capability"}, action))
    for part in parts(source, target):
        for value in valid_messages(source, part, max(count // 3, 2)):
            try:
                outcome = convert(strict, part, value)
            except NotExpressible:
                continue
            assert accepts(subject(target), part.target, outcome), f"{part}: {value} became {outcome}"


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_no_message_of_a_peer_breaks_a_conversion(source: str, target: str, count: int) -> None:
    found = conversions(source, target)
    for part in parts(source, target):
        maker = subject(source).instances(f"hostile {part}")
        for case in maker.random(count, *part.source):
            converter = found.converter(part.method, part.part)
            if converter is not None:
                try:
                    converter.convert(copy.deepcopy(case.value), _ignore)
                except NotExpressible as error:
                    assert error.method == part.method


def test_compiling_twice_is_the_same() -> None:
    tables = conversions("2024-11-05", "2025-11-25").tables
    for table in tables:
        assert Compiled(table, up=True, policy={}).part("tools/list", "result") is not None


def _is_about_capabilities(losses: list[Loss]) -> bool:
    return any(loss.kind == "capability" for loss in losses)


def _is_filled(path: Path, value: Json) -> bool:
    """Whether a schema of output is not one of objects, which an older revision demands."""
    if path[2:3] != ("outputSchema",) or path[3:] not in (("type",), ("properties",), ("required",)):
        return False
    schema = at(value, path[:-1])
    return is_map(schema) and schema.get("type") != "object"


def _shows_at(loss: Loss) -> Path:
    """Return the place of a loss, up to where the path differs before and after."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in loss.path.split("/")[1:]]
    path = tuple(int(step) if step.isdigit() else step for step in steps)
    if loss.kind == "structured_content":
        return (*path[:-1], "content")
    if loss.kind == "structured_value":
        return path[:-1]
    if loss.part == "params" and path and path[0] == "messages":
        return ("messages",)
    return path


LOOKALIKES: list[tuple[str, Part, Json]] = [
    (
        "2025-06-18",
        Part(method="elicitation/create", part="params", source=("ElicitRequestParams",), target=()),
        {
            "message": "Which?",
            "requestedSchema": {
                "type": "object",
                "properties": {"colour": {"type": "string", "oneOf": [{"const": "red", "title": "Red"}]}},
            },
        },
    ),
    (
        "2025-03-26",
        Part(method="tools/call", part="result", source=("CallToolResult",), target=()),
        {"content": [], "structuredContent": {"never": "declared"}},
    ),
    (
        "2024-11-05",
        Part(method="tools/list", part="result", source=("ListToolsResult",), target=()),
        {"tools": [{"name": "x", "inputSchema": {"type": "object"}, "title": 5, "icons": "none"}]},
    ),
]


@pytest.mark.parametrize(("old", "part", "value"), LOOKALIKES, ids=[str(part) for _, part, _ in LOOKALIKES])
def test_lookalikes_of_newer_forms_come_back_unchanged(old: str, part: Part, value: Json) -> None:
    assert accepts(subject(old), part.source, value)
    newer = convert(conversions(old, REVISIONS[-1]), part, value)
    assert newer != value
    losses: list[Loss] = []
    assert plain(convert(conversions(REVISIONS[-1], old), part, newer, losses), value) == value
    assert not losses


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_messages_that_are_read_once_need_no_second_validation(source: str, target: str, count: int) -> None:
    found, judges = conversions(source, target), (subject(source), subject(target))
    tried = 0
    for part in parts(source, target):
        if found.refuses_more(part.method, part.part):
            continue
        for case in subject(source).instances(f"twice {part}").random(count, *part.source):
            outcome = convert(found, part, case.value)
            if accepts(judges[1], part.target, outcome):
                assert accepts(judges[0], part.source, case.value), f"{part}: {case.value}"
                tried += 1
    assert tried > count // 2
