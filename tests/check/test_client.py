"""The raw client: what it sends is valid unless it means not to, and arguments of tools are what they should be."""

import json
import sys
from time import thread_time
from typing import Any

import pytest

from mcp_bindgen.check.arguments import Arguments
from mcp_bindgen.check.client import Peer, Silent
from mcp_bindgen.check.probe import message_of
from mcp_bindgen.check.requirements import LEGACY, REVISIONS, rows
from mcp_bindgen.check.run import check
from mcp_bindgen.check.selection import Wanted
from mcp_bindgen.live.target import Command
from mock.test_lock import HOSTILE
from support.specification import specification

INFO = {"name": "x", "version": "1"}
OFFERS: dict[str, Any] = {
    "tools": {},
    "prompts": {},
    "resources": {},
    "completions": {},
    "logging": {},
    "tasks": {"list": {}, "cancel": {}},
}


class Answering(Peer):
    """A client whose server answers every request with what its handshake says."""

    def __init__(self, revision: str) -> None:
        super().__init__(0.01)
        self.revision = revision
        self._answers: list[bytes] = []

    async def _transmit(self, text: str) -> None:
        message: dict[str, Any] = json.loads(text)
        if message["method"] in ("initialize", "server/discover"):
            legacy = {"protocolVersion": self.revision, "capabilities": OFFERS, "serverInfo": INFO}
            modern = {"supportedVersions": [self.revision], "capabilities": OFFERS, "resultType": "complete"}
            result = legacy if self.is_legacy else {**modern, "ttlMs": 0, "cacheScope": "private"}
            self._answers.append(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    async def _line(self, deadline: float) -> bytes:
        if not self._answers:
            raise Silent("nothing")
        return self._answers.pop(0)


@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_rows_mean_to_be_valid_is_valid(revision: str) -> None:
    peer = Answering(revision)
    assert await peer.begin(revision) == ""
    for row in rows().values():
        for probe in row.probes if revision in row.revisions else ():
            if probe.get("expect", "").startswith("result") and probe.get("send"):
                await peer.send(message_of(peer, probe))
    assert peer.ours == []


@pytest.mark.parametrize("revision", [LEGACY[-1], REVISIONS[-1]])
async def test_an_invalid_message_that_is_meant_to_be_valid_is_reported(revision: str) -> None:
    peer = Answering(revision)
    assert await peer.begin(revision) == ""
    await peer.send(peer.request("tools/call", {"nome": "add"}))
    assert [each for each in peer.ours if "Field required" in each]
    other = Answering(revision)
    assert await other.begin(revision) == ""
    await other.send(other.request("tools/call", {"nome": "add"}), is_valid=False)
    assert other.ours == []


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"$ref": "#/$defs/city"},
        "days": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 7}, {"type": "null"}]},
        "unit": {"enum": ["C", "F"]},
        "ids": {"type": "array", "items": {"type": "string", "format": "uuid"}, "minItems": 1},
        "rate": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
        "code": {"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"},
    },
    "required": ["city", "ids"],
    "$defs": {"city": {"type": "string", "minLength": 2, "maxLength": 5}},
}


def test_valid_arguments_are_at_the_bounds() -> None:
    made = Arguments(SCHEMA)
    assert made.smallest == {"city": "amber", "ids": ["00000000-0000-4000-8000-000000000001"]}
    found = list(made.valid())
    assert all(made.mismatch(each) == "" for each in found)
    assert {each["days"] for each in found if "days" in each} == {1, 7}
    assert "aaaaa" in [each["city"] for each in found] and {"C", "F"} <= {each.get("unit") for each in found}
    assert 0.5 in [each.get("rate") for each in found] and "AAA-0000" in [each.get("code") for each in found]


def test_known_arguments_and_defaults_come_first() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 5}}, "required": ["n"]}
    assert Arguments(schema).smallest == {"n": 5}
    assert Arguments(schema, [{"n": 7}]).smallest == {"n": 7}


def test_invalid_arguments_have_one_violation_each() -> None:
    made = Arguments(SCHEMA)
    base, found = made.smallest, dict(made.invalid())
    assert base is not None and all(made.mismatch(each) for each in found.values())
    assert all(sum(base.get(key) != each.get(key) for key in {*base, *each}) == 1 for each in found.values())
    assert {"without city", "with city too long", "with days too large", "with unit outside its enum"} <= found.keys()


@pytest.mark.parametrize(
    "schema", [{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, {"type": 7}, {"not": {}}]
)
def test_a_schema_that_accepts_nothing_has_no_arguments(schema: dict[str, Any]) -> None:
    assert Arguments(schema).smallest is None
    assert list(Arguments(schema).invalid()) == []


async def test_without_validation_nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema.validators", None)
    with pytest.raises(ModuleNotFoundError, match="validation"):
        await check(Wanted(target=Command(words=("/nonexistent",)), timeout=1))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_are_bounded(name: str) -> None:
    begun = thread_time()
    made = Arguments(HOSTILE[name])
    assert sum(1 for _ in (*made.valid(), *made.invalid())) < 1000
    assert thread_time() - begun < 10


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_page_of_each_probed_requirement_exists(revision: str) -> None:
    folder = specification(revision)
    if not folder.is_dir():
        pytest.skip("the pages of the specification are not here")
    for row in rows().values():
        page = row.page_in(revision)
        if revision in row.revisions and (row.probes or row.seen) and page != "schema":
            assert (folder / f"{page}.mdx").exists() or (folder / page / "index.mdx").exists(), row.id
