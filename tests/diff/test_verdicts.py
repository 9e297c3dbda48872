"""A verdict is proven, or it is not given: random changes, judged by the diff and by an oracle without its code.

`CASES` sets the number of cases of the slow test.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import cache
from itertools import islice, pairwise, permutations
from typing import TypeAlias

import pytest

from mcp_bindgen.diff.compatibility import Verdict
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.diff.wire.witness import Witnesses
from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.ir.nodes import Protocol
from support.judging import Judge
from support.mutants import Json
from support.mutants_of_messages import OPS
from support.official import upstream
from support.oracle import Side
from support.samples import REVISIONS
from support.shared import computed_once, shared_folder
from support.verdict_cases import Figures, cases, is_confirmed, judge_both, official, read, run, side, untouched

QUICK = 150
SLOW = int(os.environ.get("CASES", "300"))
CHUNKS = 12
"""The quick cases run in parts, which workers share."""
Edit: TypeAlias = Callable[[Json], object]
"""Changes the definitions of a schema in place."""
MIN_CLASSES = 60
MIN_RECALL = 0.97
MAX_UNDECIDED = 0.03
"""The share of pairs of peers without a verdict."""


def figures(chosen: Iterable[tuple[str, str, int]]) -> Figures:
    found = Figures()
    for revision, name, seed in chosen:
        run(revision, name, seed, found)
    return found


@pytest.fixture
def chunk_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Figures]:
    """Returns the figures of a part of the quick cases, which the slow test also counts."""
    folder = shared_folder(tmp_path_factory, "verdicts")

    def chunk(number: int) -> Figures:
        return computed_once(folder / str(number), lambda: figures(islice(cases(QUICK), number, None, CHUNKS)))

    return chunk


def check(found: Figures) -> None:
    """What no case may show: a false verdict, or a message that proves nothing."""
    assert found.contradicted == []
    assert found.wrong_roles == []


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("name", ["CompleteResult", "ListToolsResult", "ReadResourceResult"])
def test_what_a_result_says_of_its_forms_is_judged(revision: str, name: str) -> None:
    tree = deepcopy(official(revision))
    required = tree["$defs"][name]["required"][0]
    tree["$defs"][name]["oneOf"] = [{"required": ["_meta"]}, {"required": [required]}]
    found = Figures()
    judge_both(f"{revision} {name}", (side(revision), Side(tree)), (untouched(revision), read(tree)), found)
    check(found)
    assert found.verdicts[Verdict.COMPATIBLE] < found.pairs


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18"])
@pytest.mark.parametrize("type_", ["string", "array", "null"])
def test_requests_remain_where_their_results_are_not_objects(revision: str, type_: str) -> None:
    """Methods without a result of their own, such as ping, do not disappear with the type that they share."""
    tree = deepcopy(official(revision))
    tree["definitions"]["Result"] = {"type": type_}
    found = Figures()
    before, after = untouched(revision), read(tree)
    judge_both(f"{revision} {type_}", (side(revision), Side(tree)), (before, after), found)
    check(found)
    assert [method.name for method in after.methods] == [method.name for method in before.methods]


@pytest.mark.parametrize("keyword", [{"not": {"required": ["_meta"]}}, {"propertyNames": {"maxLength": 2}}])
def test_params_of_an_embedded_request_are_sent_where_they_change(keyword: dict[str, object]) -> None:
    """A message without the optional params proves nothing about them."""
    tree = deepcopy(official("2026-07-28"))
    tree["$defs"]["ListRootsRequest"]["properties"]["params"].update(keyword)
    found = Figures()
    judge_both("embedded params", (side("2026-07-28"), Side(tree)), (untouched("2026-07-28"), read(tree)), found)
    check(found)
    assert found.verdicts[Verdict.BREAKS] >= 2


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
def test_a_result_proves_nothing_about_errors(revision: str) -> None:
    tree, found = deepcopy(official(revision)), Figures()
    tree["definitions"]["JSONRPCError"] = {"type": "object"}
    judge_both(revision, (side(revision), Side(tree)), (untouched(revision), read(tree)), found)
    check(found)


def _inline_params(name: str, words: Iterable[str], keyword: str) -> Edit:
    """Return an edit that asks for one of two properties of params that are written out in their message."""
    return lambda all_: all_[name]["properties"]["params"].update({keyword: [{"required": [word]} for word in words]})


def _sized(name: str, member: str, **bound: int) -> Edit:
    return lambda all_: all_[name]["properties"][member].update(bound)


def _framed(kind: str, **bound: object) -> Edit:
    return lambda all_: all_[f"JSONRPC{kind}"]["properties"]["method"].update(bound)


def _of(name: str, **properties: object) -> Edit:
    return lambda all_: all_[name]["properties"].update(properties)


def _moved_out(all_: Json) -> None:
    schema = all_["Tool"]["properties"]["inputSchema"]["properties"]
    all_["Tool"]["properties"]["properties"] = schema.pop("properties")


def _list_form(keyword: Mapping[str, object]) -> Edit:
    return lambda all_: all_["CreateMessageResult"]["properties"]["content"]["anyOf"][-1].update(keyword)


PROVABLE: Mapping[str, tuple[str, Edit]] = {
    "one of two in params": ("2025-06-18", _inline_params("CancelledNotification", ("reason", "requestId"), "oneOf")),
    "any of two in params": ("2025-03-26", _inline_params("CompleteRequest", ("zzz", "yyy"), "anyOf")),
    "two in params of a request": ("2024-11-05", _inline_params("CallToolRequest", ("name", "arguments"), "oneOf")),
    "no method in a batch": (
        "2025-03-26",
        lambda all_: all_["JSONRPCNotification"]["properties"].update(method={"type": "null"}),
    ),
    "a method in a batch that is too long": ("2025-03-26", _framed("Notification", maxLength=30)),
    "a method in a batch that is too short": ("2025-03-26", _framed("Request", minLength=12)),
    "a frame that no request fits": ("2024-11-05", _of("JSONRPCRequest", method={"oneOf": [{"type": "string"}] * 2})),
    "an id that no value fits": (
        "2025-06-18",
        _of("JSONRPCRequest", id={"oneOf": [{"$ref": "#/definitions/RequestId"}] * 2}),
    ),
    "ids that are strings, where only clients ask": ("2026-07-28", _of("JSONRPCRequest", id={"type": "string"})),
    "params that hold strings, where all have others": (
        "2026-07-28",
        _of("JSONRPCRequest", params={"type": "object", "additionalProperties": {"type": "string"}}),
    ),
    "capabilities in an error, which are in many requests": (
        "2026-07-28",
        lambda all_: all_["ClientCapabilities"]["properties"]["elicitation"].update(
            allOf=[{"properties": {"form": {"type": "string"}}}]
        ),
    ),
    "a pattern of names in a map": (
        "2025-11-25",
        lambda all_: all_["CallToolResult"]["properties"]["structuredContent"].update(
            patternProperties={"^x-|^extra": {"type": "string"}}
        ),
    ),
    "few properties of an open object": ("2026-07-28", _sized("Tool", "outputSchema", maxProperties=2)),
    "many properties of an open object": ("2025-11-25", _sized("Tool", "inputSchema", minProperties=4)),
    "a property that a map must have": (
        "2026-07-28",
        lambda all_: all_["AudioContent"]["properties"]["_meta"].update(required=["zzz"]),
    ),
    "a property that a named map must have": (
        "2026-07-28",
        lambda all_: all_["EmbeddedResource"]["properties"]["_meta"].update(allOf=[{"required": ["zzz"]}]),
    ),
    "a keyword moved out of a schema": ("2024-11-05", _moved_out),
    "a prefix in the last form": ("2025-11-25", _list_form({"prefixItems": [{"type": "boolean"}]})),
    "a bound in the last form": ("2025-11-25", _list_form({"contains": {"type": "boolean"}})),
}


@pytest.mark.parametrize("name", PROVABLE)
def test_a_change_with_a_counterexample_is_proven(name: str) -> None:
    """Each needs a candidate that the smallest messages, or the first ones, are not."""
    revision, edit = PROVABLE[name]
    tree, found = deepcopy(official(revision)), Figures()
    edit(tree["$defs" if "$defs" in tree else "definitions"])
    judge_both(name, (side(revision), Side(tree)), (untouched(revision), read(tree)), found)
    check(found)
    assert found.broken and found.missed == []
    assert not found.undecided


@pytest.mark.parametrize(
    ("kind", "bound"),
    [
        ("Notification", {"minLength": 3}),
        ("Notification", {"pattern": "^notifications/"}),
        ("Request", {"type": ["integer", "string"]}),
        ("Request", {"minLength": 4}),
    ],
)
def test_what_frames_say_of_methods_concerns_those_that_exist(kind: str, bound: dict[str, object]) -> None:
    """In a batch too: its messages are those of the protocol."""
    tree, found = deepcopy(official("2025-03-26")), Figures()
    _framed(kind, **bound)(tree["definitions"])
    judge_both(kind, (side("2025-03-26"), Side(tree)), (untouched("2025-03-26"), read(tree)), found)
    assert (found.verdicts, found.broken) == ({Verdict.COMPATIBLE: 4}, 0)


@pytest.mark.parametrize("name", ["CompleteResult", "ListToolsResult", "CallToolResult"])
def test_clients_reject_a_tag_of_a_result_that_they_do_not_know(name: str) -> None:
    tree, found = deepcopy(official("2026-07-28")), Figures()
    tree["$defs"][name]["properties"]["resultType"]["const"] = "zzz"
    judge_both(name, (side("2026-07-28"), Side(tree)), (untouched("2026-07-28"), read(tree)), found)
    check(found)
    assert found.recalled == found.broken == 4


@pytest.mark.parametrize("params", [{"type": "string"}, {"type": "object", "properties": {"_meta": False}}])
def test_a_frame_is_proven_by_messages_that_also_fit_their_method(params: dict[str, object]) -> None:
    tree, found = deepcopy(official("2024-11-05")), Figures()
    _of("JSONRPCNotification", params=params)(tree["definitions"])
    judge_both("params", (side("2024-11-05"), Side(tree)), (untouched("2024-11-05"), read(tree)), found)
    check(found)


def _forbidding(name: str, member: str) -> Edit:
    return lambda all_: all_[name].update(allOf=[{"properties": {member: False}}])


@pytest.mark.parametrize(
    "edit",
    [
        _forbidding("CreateMessageRequestParams", "maxTokens"),
        _forbidding("CallToolRequestParams", "name"),
        _of("CreateMessageRequest", params={"type": "string"}),
        _of("CallToolRequest", params={"type": ["array", "null"]}),
    ],
)
def test_a_request_that_nobody_can_send_has_no_results(edit: Edit) -> None:
    """The results that only some of its params ask for, those of tasks, do not disappear with the params."""
    tree, found = deepcopy(official("2025-11-25")), Figures()
    edit(tree["$defs"])
    old, new = untouched("2025-11-25"), read(tree)
    judge_both("no params", (side("2025-11-25"), Side(tree)), (old, new), found)
    check(found)
    assert {carrier.part for finding in compare_messages(old, new) for carrier in finding.carriers} <= {
        "message",
        "params",
    }


def test_a_property_that_moves_out_of_a_closed_object_is_rejected_where_it_was() -> None:
    trees, found = [deepcopy(official("2024-11-05")) for _ in range(2)], Figures()
    for tree in trees:
        tree["definitions"]["Tool"]["properties"]["inputSchema"]["additionalProperties"] = False
    _moved_out(trees[1]["definitions"])
    old, new = trees
    judge_both("closed", (Side(old), Side(new)), (read(old), read(new)), found)
    check(found)
    assert found.broken and found.missed == []


def test_there_are_enough_classes() -> None:
    assert len(OPS) >= MIN_CLASSES


@pytest.mark.parametrize("chunk", [pytest.param(n, marks=pytest.mark.slow if n > 6 else []) for n in range(CHUNKS)])
def test_no_verdict_is_false(chunk: int, chunk_of: Callable[[int], Figures]) -> None:
    check(chunk_of(chunk))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(*pair, marks=[] if pair in pairwise(REVISIONS) else pytest.mark.slow)
        for pair in permutations(REVISIONS, 2)
    ],
)
def test_every_witness_between_official_files_is_confirmed(old: str, new: str) -> None:
    judge = Judge(side(old), side(new))
    witnesses = Witnesses(untouched(old), untouched(new))
    found = [witnesses.testify(finding) for finding in compare_messages(untouched(old), untouched(new))]
    assert any(finding.witnesses for finding in found)
    assert [f for f in found for pair in f.witnesses if not is_confirmed(judge, f, pair)] == []


@cache
def state(name: str) -> tuple[Side, Protocol] | None:
    """Read a state of the history; None if its schema.json is malformed."""
    try:
        tree = json.loads((upstream() / "history" / name / "schema.json").read_text("utf-8"))
        return Side(tree), read(tree)
    except (InputError, json.JSONDecodeError):
        return None


STATES = sorted(path.parent.name for path in (upstream() / "history").glob("*/schema.json"))


@pytest.mark.slow
def test_each_state_of_the_history_is_judged_truly_against_its_neighbour_and_equals_itself() -> None:
    found, known = Figures(), [(name, read_state) for name in STATES if (read_state := state(name))]
    if not known:
        pytest.skip("the states are missing (set MCP_UPSTREAM)")
    for (name, (old, before)), (other, (new, after)) in pairwise(known):
        judge_both(f"{name} {other}", (old, new), (before, after), found)
    check(found)
    assert found.recalled == found.broken
    assert [name for name, (_, protocol) in known if compare_messages(protocol, protocol)] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_cases_have_no_false_verdict_and_few_pairs_without_one(chunk_of: Callable[[int], Figures]) -> None:
    more = figures(islice(cases(SLOW), QUICK // 2, None))
    found = sum(map(chunk_of, range(CHUNKS)), more)
    print(found.summary())
    check(found)
    assert len(found.classes) >= MIN_CLASSES
    assert found.recalled >= MIN_RECALL * found.broken
    assert sum(found.undecided.values()) <= MAX_UNDECIDED * found.pairs
