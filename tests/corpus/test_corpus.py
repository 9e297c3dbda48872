"""Every message of the corpus is accepted and comes back unchanged in its revisions, and is refused in the others."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from differential.values import Json, differences, is_map, read
from mcp_runtime.core.method import AnyMethod, Direction, MethodTable, RequestMethod, WireType
from support.samples import REVISIONS, TRANSCRIBED

FILES = sorted(Path(__file__).parent.glob("*.json"))
PROPERTIES = ("name", "kind", "method", "accepted", "rejected", "rule", "schema_only", "message")
KINDS = ("request", "notification", "result", "error", "batch")

FRAMES = {
    "request": ("JSONRPCRequest",),
    "notification": ("JSONRPCNotification",),
    "result": ("JSONRPCResultResponse", "JSONRPCResponse"),
    "error": ("JSONRPCErrorResponse", "JSONRPCError"),
    "batch": ("JSONRPCMessage",),
}
"""The frame of each kind of message, by the names that it has had, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The generated package of a revision, and its methods."""

    name: str
    package: str
    methods: MethodTable

    def has(self, type_: str) -> bool:
        return hasattr(import_module(self.package), type_)

    def frame(self, kind: str) -> WireType[Any]:
        return WireType(self.package, next(name for name in FRAMES[kind] if self.has(name)))

    def message(self, method: AnyMethod) -> WireType[Any]:
        return WireType(self.package, method.message)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_cases_are_well_formed(file: Path) -> None:
    cases = _cases(file)
    assert len({case["name"] for case in cases}) == len(cases), "two cases have the same name"
    for case in cases:
        assert list(case) == [name for name in PROPERTIES if name in case], case["name"]
        assert case["kind"] in KINDS and case.get("rule", "framing") == "framing", case["name"]
        assert (case["method"] is None) == (file.stem == "envelope"), case["name"]
        assert file.stem in ("envelope", (case["method"] or "").replace("/", "_")), case["name"]
        assert {*case["accepted"], *case["rejected"]} <= set(REVISIONS), case["name"]
        assert not {*case["accepted"]} & {*case["rejected"]}, case["name"]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_messages(file: Path, revision: str) -> None:
    faults: list[str] = []
    for case in _cases(file):
        if revision not in {*case["accepted"], *case["rejected"]}:
            continue  # such as `true` for a property schema, which is read as an object in legacy revisions
        fault = _fault(_revision(revision), case)
        if revision in case["accepted"] and fault is not None:
            faults.append(f"{case['name']}: valid in {revision}, but {fault}")
        if revision in case["rejected"] and fault is None:
            faults.append(f"{case['name']}: accepted, but {case['rejected'][revision]}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("revision", TRANSCRIBED)
def test_every_method_has_a_message_and_a_result(revision: str) -> None:
    accepted = [case for file in FILES for case in _cases(file) if revision in case["accepted"]]
    shown = {(case["method"], case["kind"]) for case in accepted}
    asked = {request["method"] for case in accepted for request in _values_in_maps(case["message"], "inputRequests")}
    answered = any(True for case in accepted for _ in _values_in_maps(case["message"], "inputResponses"))
    missing: list[str] = []
    for name, method in _revision(revision).methods.items():
        if method.direction is Direction.EMBEDDED:
            missing += [] if name in asked and answered else [f"{name}: embedded"]
            continue
        kinds = ("request", "result") if isinstance(method, RequestMethod) else ("notification",)
        missing += [f"{name}: {kind}" for kind in kinds if (name, kind) not in shown]
    assert not missing


def _fault(revision: Revision, case: dict[str, Any]) -> str | None:
    """Return why a strict reader of the revision refuses a message, or None if it accepts it."""
    message, kind = case["message"], case["kind"]
    if fault := _framing_fault(revision, message):
        return fault
    if fault := _type_fault(message, revision.frame(kind)):
        return fault
    if kind in ("error", "batch") or case["method"] is None:
        return None
    method = revision.methods.get(case["method"])
    if method is None:
        return "has no such method"
    if kind == "result":
        assert isinstance(method, RequestMethod)
        return _type_fault(message["result"], *_results(method, message["result"]))
    if fault := _type_fault(message, revision.message(method)):
        return fault
    if "params" not in message or method.params is None:
        return "params are required" if method.params_required else None
    return _type_fault(message["params"], method.params)


def _results(method: RequestMethod[Any, Any], result: Json) -> tuple[WireType[Any], ...]:
    """Return the types that a result may have; `resultType` tells a request for more input from a complete result."""
    if not method.multi_round_trip:
        return (method.result, *method.alternatives)
    return method.alternatives if result.get("resultType") == "input_required" else (method.result,)


def _framing_fault(revision: Revision, message: Json) -> str | None:
    """Check what JSON-RPC 2.0 requires beyond the types: which properties may occur together, and batches."""
    if isinstance(message, list):
        if not revision.has("JSONRPCBatchRequest"):
            return "the revision has no batches"
        return None if message else "an empty batch"
    roles = [name for name in ("method", "result", "error") if name in message]
    return None if len(roles) == 1 else f"a message has one of method, result and error, not {roles}"


def _type_fault(value: Json, *types: WireType[Any]) -> str | None:
    """Check that one of the types accepts a value, and that every type that does so returns it unchanged."""
    text = json.dumps(value).encode()
    fault: str | None = f"it matches none of {types}"
    for type_ in types:
        try:
            decoded = type_.decode(text)
        except ValidationError as error:
            fault = fault and f"{fault}\n{error}"
            continue
        fault = None
        lost = list(differences(value, read(type_.encode(decoded))))
        assert not lost, f"{type_} changes {value} at {lost}"
    return fault


def _values_in_maps(value: Json, name: str) -> Iterator[Any]:
    """Iterate over the values in the maps with that name, at any depth."""
    if is_map(value):
        for key, inner in value.items():
            if key == name and is_map(inner):
                yield from inner.values()
            yield from _values_in_maps(inner, name)


@cache
def _revision(name: str) -> Revision:
    package = f"mcp_bindings.v{name.replace('-', '_')}"
    return Revision(name=name, package=package, methods=import_module(package).METHODS)


@cache
def _cases(file: Path) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = read(file.read_bytes())
    return cases
