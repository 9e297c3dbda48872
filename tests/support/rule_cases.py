"""One pair of schemas for every rule on messages, with the complete list of findings between them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.ir.nodes import Protocol
from support.samples import HANDSHAKE, json_source, load, typescript_source

Found: TypeAlias = tuple[str, str, str, str]
"""The id of a rule, the place, the old reading and the new one."""

START = """
export interface InitializeRequest { method: "initialize"; params: { protocolVersion: string }; }
export interface InitializeResult { protocolVersion: string; }
"""
REQUEST = 'export interface DoRequest { method: "do"; params: DoRequestParams; }'
RESULT = "export interface DoResult { }"
ROOT = "export type ClientRequest = InitializeRequest | DoRequest;"
OTHER_MESSAGES = """
export type ClientRequest = InitializeRequest;
export interface EmptyResult { }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Two schemas, given by what they add to the handshake, and all findings between them.

    TypeScript cannot close an object, so cases about closed objects use definitions of JSON Schema. `beside` says
    why another finding is as severe as that of the rule, if there is one.
    """

    old: str | Mapping[str, Any]
    new: str | Mapping[str, Any]
    found: tuple[Found, ...]
    beside: str = ""


def asking(params: str, more: str = "") -> str:
    """A schema with a client request whose params have these properties."""
    return f"{REQUEST} {RESULT} {ROOT} export interface DoRequestParams {{ {params} }} {more}"


def member(rule: str, was: str, is_: str, old: str, new: str) -> Case:
    """A case in which the declaration of one property changes."""
    return Case(old=asking(was), new=asking(is_), found=((rule, "DoRequestParams.x", old, new),))


def closed(**members: Any) -> dict[str, Any]:
    """Definitions in which the params of the handshake are closed, with these properties."""
    params = HANDSHAKE["InitializeRequestParams"]
    properties = {**params["properties"], **members}
    return {
        **HANDSHAKE,
        "InitializeRequestParams": {**params, "properties": properties, "additionalProperties": False},
    }


def frames(*more: str) -> str:
    """A schema whose frames are a request and the given ones."""
    return (
        OTHER_MESSAGES
        + 'export interface JSONRPCRequest { jsonrpc: "2.0"; id: string; method: string; }'
        + f" export type JSONRPCMessage = {' | '.join(['JSONRPCRequest', *more])};"
    )


def result_types(*names: str) -> str:
    """A schema in which the server may send these results."""
    results = "".join(f" export interface {name} {{ }}" for name in ("ARest", "BRest", *names))
    return f"{OTHER_MESSAGES} {results} export type ServerResult = {' | '.join(['ARest', 'BRest', *names])};"


def capabilities(members: str) -> str:
    """A schema in which the client declares capabilities in its params."""
    return asking("can: ClientCapabilities;", f"export interface ClientCapabilities {{ {members} }}")


def answered(results: str) -> str:
    """A schema whose request gets one of these results."""
    return (
        asking("").replace(RESULT, "export interface DoResult { done: boolean; }")
        + "export interface LaterResult { at: string; }"
        + f" export interface DoResultResponse {{ id: string; result: {results}; }}"
    )


def message(members: str) -> str:
    """A schema whose request itself declares these properties."""
    return (
        f'export interface DoRequest {{ method: "do"; params: DoRequestParams; {members} }} {RESULT} {ROOT}'
        " export interface DoRequestParams { }"
    )


OPEN = HANDSHAKE
CLOSED = closed()
TWO_CODES = "export const PARSE_ERROR = -32700;"
HOLDER = "x: { $schema?: string; properties?: { [key: string]: object }; };"
OPEN_HOLDER = "x: { $schema?: string; [key: string]: unknown; };"

CASES: dict[str, Case] = {
    "request-method-added": Case(
        old=OTHER_MESSAGES,
        new=OTHER_MESSAGES + 'export interface AskRequest { method: "ask"; } export type ServerRequest = AskRequest;',
        found=(("request-method-added", "AskRequest", "-", "ask"),),
    ),
    "request-method-removed": Case(
        old=asking("x: string;"),
        new=OTHER_MESSAGES,
        found=(("request-method-removed", "DoRequest", "do", "-"),),
    ),
    "notification-method-added": Case(
        old=OTHER_MESSAGES,
        new=OTHER_MESSAGES
        + 'export interface ToldNotification { method: "told"; } export type ServerNotification = ToldNotification;',
        found=(("notification-method-added", "ToldNotification", "-", "told"),),
    ),
    "notification-method-removed": Case(
        old=OTHER_MESSAGES
        + 'export interface ToldNotification { method: "told"; } export type ClientNotification = ToldNotification;',
        new=OTHER_MESSAGES,
        found=(("notification-method-removed", "ToldNotification", "told", "-"),),
    ),
    "property-added-optional": member("property-added-optional", "", "x?: string;", "-", "string"),
    "property-added-required": member("property-added-required", "", "x: string[];", "-", "string[]"),
    "property-removed-optional": member("property-removed-optional", "x?: string;", "", "string", "-"),
    "property-removed-required": member("property-removed-required", "x: boolean;", "", "boolean", "-"),
    "property-now-required": member("property-now-required", "x?: string;", "x: string;", "optional", "required"),
    "property-now-optional": member("property-now-optional", "x: string;", "x?: string;", "required", "optional"),
    "property-renamed": Case(
        old=asking("toolName: string;"),
        new=asking("tool_name: string;"),
        found=(("property-renamed", "DoRequestParams.toolName", "toolName", "tool_name"),),
    ),
    "union-member-added": member("union-member-added", "x: string;", "x: string | string[];", "-", "string[]"),
    "union-member-removed": Case(
        old=asking("x: A | B;", 'export interface A { type: "a"; } export interface B { type: "b"; }'),
        new=asking("x: A;", 'export interface A { type: "a"; } export interface B { type: "b"; }'),
        found=(("union-member-removed", "DoRequestParams.x", "B", "-"),),
    ),
    "result-alternative-added": Case(
        old=answered("DoResult"),
        new=answered("DoResult | LaterResult"),
        found=(("result-alternative-added", "DoResult", "-", "LaterResult"),),
    ),
    "result-alternative-removed": Case(
        old=answered("DoResult | LaterResult"),
        new=answered("DoResult"),
        found=(("result-alternative-removed", "DoResult", "LaterResult", "-"),),
    ),
    "enum-value-added": member("enum-value-added", 'x: "a" | "b";', 'x: "a" | "b" | "c";', "-", '"c"'),
    "enum-value-removed": member("enum-value-removed", 'x: "a" | "b";', 'x: "b";', '"a"', "-"),
    "enum-opened": member("enum-opened", 'x: "a" | "b";', "x: string;", '"a" | "b"', "string"),
    "enum-closed": member("enum-closed", "x: string;", 'x: "a" | "b";', "string", '"a" | "b"'),
    "const-changed": member("const-changed", 'x: "a";', 'x: "b";', '"a"', '"b"'),
    "type-widened": member("type-widened", "x: string;", "x: unknown;", "string", "any"),
    "type-narrowed": member("type-narrowed", "x: unknown;", "x: string[];", "any", "string[]"),
    "type-changed": member("type-changed", "x: string;", "x: string[];", "string", "string[]"),
    "integer-to-number": member(
        "integer-to-number",
        "/** @TJS-type integer */ x: number;",
        "/** @TJS-type number */ x: number;",
        "integer",
        "number",
    ),
    "number-to-integer": member(
        "number-to-integer",
        "/** @TJS-type number */ x: number;",
        "/** @TJS-type integer */ x: number;",
        "number",
        "integer",
    ),
    "nullable-added": member("nullable-added", "x: string;", "x: string | null;", "-", "null"),
    "nullable-removed": member("nullable-removed", "x: string | null;", "x: string;", "null", "-"),
    "constraint-added": member("constraint-added", "x: number;", "/** @maximum 5 */ x: number;", "-", "maximum 5"),
    "constraint-removed": member("constraint-removed", "/** @minimum 5 */ x: number;", "x: number;", "minimum 5", "-"),
    "constraint-changed": member(
        "constraint-changed",
        "/** @pattern ^a */ x: string;",
        "/** @pattern ^b */ x: string;",
        "pattern ^a",
        "pattern ^b",
    ),
    "additional-properties-closed": Case(
        old=OPEN,
        new=CLOSED,
        found=(("additional-properties-closed", "InitializeRequestParams{}", "open", "closed"),),
    ),
    "additional-properties-opened": Case(
        old=CLOSED,
        new=OPEN,
        found=(("additional-properties-opened", "InitializeRequestParams{}", "closed", "open"),),
    ),
    "method-renamed": Case(
        old=asking(""),
        new=asking("").replace('"do"', '"perform"'),
        found=(("method-renamed", "DoRequest", "do", "perform"),),
    ),
    "result-type-added": Case(
        old=result_types(),
        new=result_types("CRest"),
        found=(("result-type-added", "ServerResult", "-", "CRest"),),
    ),
    "result-type-removed": Case(
        old=result_types("CRest"),
        new=result_types(),
        found=(("result-type-removed", "ServerResult", "CRest", "-"),),
    ),
    "jsonrpc-message-form-added": Case(
        old=frames(),
        new=frames("JSONRPCRequest[]"),
        found=(("jsonrpc-message-form-added", "JSONRPCMessage", "-", "JSONRPCRequest[]"),),
    ),
    "jsonrpc-message-form-removed": Case(
        old=frames("JSONRPCRequest[]"),
        new=frames(),
        found=(("jsonrpc-message-form-removed", "JSONRPCMessage", "JSONRPCRequest[]", "-"),),
    ),
    "envelope-member-declared": Case(
        old=message(""),
        new=message("id: string;"),
        found=(("envelope-member-declared", "DoRequest.id", "-", "id"),),
    ),
    "envelope-member-undeclared": Case(
        old=message('jsonrpc: "2.0";'),
        new=message(""),
        found=(("envelope-member-undeclared", "DoRequest.jsonrpc", "jsonrpc", "-"),),
    ),
    "error-code-added": Case(
        old=asking("") + TWO_CODES,
        new=asking("") + TWO_CODES + "export const TOO_SLOW = -32001;",
        found=(("error-code-added", "TOO_SLOW", "-", "-32001"),),
    ),
    "error-code-removed": Case(
        old=asking("") + TWO_CODES + "export const TOO_SLOW = -32001;",
        new=asking("") + TWO_CODES,
        found=(("error-code-removed", "TOO_SLOW", "-32001", "-"),),
    ),
    "error-code-renumbered": Case(
        old=asking("") + "export const TOO_SLOW = -32001;",
        new=asking("") + "export const TOO_SLOW = -32002;",
        found=(("error-code-renumbered", "TOO_SLOW", "-32001", "-32002"),),
    ),
    "opaque-changed": Case(
        old=asking("x: `a-${string}`;"),
        new=asking("x: `b-${string}`;"),
        found=(("opaque-changed", "DoRequestParams.x", "`a-${string}`", "`b-${string}`"),),
    ),
    "property-moved": Case(
        old=asking("count: number; box: { other?: string };"),
        new=asking('box: { other?: string; "org.example/count": number };'),
        found=(("property-moved", "DoRequestParams.count", "count", "box.org.example/count"),),
    ),
    "property-constraint-added": Case(
        old=asking(OPEN_HOLDER),
        new=asking(HOLDER),
        found=(
            (
                "property-constraint-added",
                "DoRequestParamsX.properties",
                "-",
                "{ [key: string]: { [key: string]: any } }",
            ),
        ),
    ),
    "property-constraint-dropped": Case(
        old=asking(HOLDER),
        new=asking(OPEN_HOLDER),
        found=(
            (
                "property-constraint-dropped",
                "DoRequestParamsX.properties",
                "{ [key: string]: { [key: string]: any } }",
                "-",
            ),
        ),
    ),
    "property-added-to-closed": Case(
        old=CLOSED,
        new=closed(x={"type": "string"}),
        found=(("property-added-to-closed", "InitializeRequestParams.x", "-", "string"),),
    ),
    "property-removed-from-closed": Case(
        old=closed(x={"type": "string"}),
        new=CLOSED,
        found=(("property-removed-from-closed", "InitializeRequestParams.x", "string", "-"),),
    ),
    "property-forbidden": member("property-forbidden", "", "x?: never;", "-", "never"),
    "property-allowed": member("property-allowed", "x?: never;", "x?: string;", "never", "string"),
    "capability-added": Case(
        old=capabilities(""),
        new=capabilities("dance?: object;"),
        found=(("capability-added", "ClientCapabilities.dance", "-", "{ [key: string]: any }"),),
    ),
    "capability-removed": Case(
        old=capabilities("sing?: object; dance?: object;"),
        new=capabilities("sing?: object;"),
        found=(("capability-removed", "ClientCapabilities.dance", "{ [key: string]: any }", "-"),),
    ),
    "union-discriminator-changed": Case(
        old=asking("x: A | B;", 'export interface A { type: "a"; } export interface B { type: "b"; }'),
        new=asking("x: A | B;", 'export interface A { type: "aa"; } export interface B { type: "b"; }'),
        found=(("union-discriminator-changed", "A.type", '"a"', '"aa"'),),
    ),
    "format-added": member("format-added", "x: string;", "/** @format uri */ x: string;", "-", "uri"),
    "format-removed": member("format-removed", "/** @format uri */ x: string;", "x: string;", "uri", "-"),
    "format-changed": member(
        "format-changed", "/** @format uri */ x: string;", "/** @format byte */ x: string;", "uri", "byte"
    ),
}


def read(text: str | Mapping[str, Any]) -> Protocol:
    """Load one schema of a case."""
    source = typescript_source(START + text) if isinstance(text, str) else json_source(text)
    protocol, diagnostics = load(source)
    assert not [line for line in diagnostics if not re.search("no type expresses|may be an integer or not", line)]
    return protocol


def found(findings: Iterable[Finding]) -> list[Found]:
    """Describe the findings in the notation of the cases."""
    return [(f.rule.id, f.place, f.old, f.new) for f in findings]
