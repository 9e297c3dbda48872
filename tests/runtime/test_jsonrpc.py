"""One text in, one message out; invalid I-JSON and invalid messages are refused with the right code."""

import json
import random
from typing import Any

import pytest

from mcp_runtime.core.json.text import MAX_VALUES
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.protocol.jsonrpc import Failure, Fault, Notification, Request, Result, classify, parse


def deep(depth: int, opening: str = "[", closing: str = "]") -> bytes:
    return (opening * depth + closing * depth).encode()


NOT_I_JSON = {
    b"": "not JSON: EOF",
    b"{": "not JSON",
    b"nul": "not JSON",
    b'{"a":1,"a":1}': "the same name twice",
    b'{"a":{"b":1,"c":2,"b":3}}': "the same name twice",
    b"NaN": "not JSON: expected value",
    b"[Infinity]": "not JSON: expected value",
    b"1e999": "too large",
    b"9" * 5000: "number out of range",
    b"{} {}": "trailing characters",
    b'"\xff"': "invalid unicode",
    b'"\\ud800"': "not JSON: unexpected end of hex escape",
    b'["\\ud800\\u0041"]': "lone leading surrogate",
    b'"\x01"': "not JSON",
    b'\xef\xbb\xbf{"a":1}': "not JSON",
    deep(129): "deeper than 128",
    deep(100_000): "deeper than 128",
    b'{"a":' * 129 + b"1" + b"}" * 129: "deeper than 128",
}


@pytest.mark.parametrize("text", NOT_I_JSON)
def test_invalid_i_json_is_a_parse_error(text: bytes) -> None:
    with pytest.raises(Fault, match=NOT_I_JSON[text]) as caught:
        parse(text)
    assert caught.value.code == -32700
    assert len(caught.value.reason) < 200


I_JSON: list[tuple[bytes, Any]] = [
    (b' \t\r\n{"a": 1}\r\n', {"a": 1}),
    (b'"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
    (b"9007199254740993", 9007199254740993),
    (b"1.5e3", 1500.0),
    (b'{"\\u0061": null}', {"a": None}),
    (deep(128), json.loads(deep(128))),
    (b"[" + b"{}," * 200 + b"{}]", [{}] * 201),
]


@pytest.mark.parametrize(("text", "value"), I_JSON)
def test_valid_i_json(text: bytes, value: Any) -> None:
    assert parse(text) == value


NO_MESSAGE: list[tuple[Any, str, Any, bool]] = [
    (1, "an object", None, False),
    ({}, '"jsonrpc"', None, False),
    ({"jsonrpc": "1.0", "id": 1, "method": "x"}, '"jsonrpc"', 1, False),
    ({"jsonrpc": "2.0", "id": 1, "method": 2}, '"method" must be a string', 1, False),
    ({"jsonrpc": "2.0", "id": None, "method": "x"}, '"id" must be', None, False),
    ({"jsonrpc": "2.0", "id": True, "method": "x"}, '"id" must be', None, False),
    ({"jsonrpc": "2.0", "id": 1.5, "method": "x"}, '"id" must be', None, False),
    ({"jsonrpc": "2.0", "id": [1], "method": "x"}, '"id" must be', None, False),
    ({"jsonrpc": "2.0", "id": 1, "method": "x", "params": [1]}, '"params" must be an object', 1, False),
    ({"jsonrpc": "2.0", "id": 1, "method": "x", "result": {}}, "not both", 1, False),
    ({"jsonrpc": "2.0", "id": 1}, 'one of "result" and "error"', 1, False),
    ({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}, 'one of "result" and "error"', 1, True),
    ({"jsonrpc": "2.0", "result": {}}, '"id" must be', None, True),
    ({"jsonrpc": "2.0", "id": 1, "result": "text"}, '"result" must be an object', 1, True),
    ({"jsonrpc": "2.0", "id": 1, "error": "text"}, '"error" must be an object', 1, True),
    ({"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "m"}}, "integer", 1, True),
    ({"jsonrpc": "2.0", "id": 1, "error": {"code": True, "message": "m"}}, "integer", 1, True),
    ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}, "message", 1, True),
]


@pytest.mark.parametrize(("value", "reason", "id_", "is_answer"), NO_MESSAGE)
def test_invalid_messages_are_invalid_requests(value: Any, reason: str, id_: Any, is_answer: bool) -> None:
    """Answers are not answered, so it matters whether a message was meant as one."""
    with pytest.raises(Fault, match=reason) as caught:
        classify(value)
    assert (caught.value.code, caught.value.id, caught.value.is_answer) == (-32600, id_, is_answer)


def test_the_four_kinds_of_messages() -> None:
    request = classify(parse(jsonrpc.write_request("a\n", "tools/call", b'{"x":1}')))
    assert isinstance(request, Request)
    assert (request.id, request.method, request.params) == ("a\n", "tools/call", {"x": 1})
    notification = classify(parse(jsonrpc.write_notification('odd"name', None)))
    assert isinstance(notification, Notification)
    assert (notification.method, notification.params) == ('odd"name', None)
    result = classify(parse(jsonrpc.write_result(7, b"{}")))
    assert isinstance(result, Result) and (result.id, result.result) == (7, {})
    failure = classify(parse(jsonrpc.write_error(None, -1, 'no "way"', {"a": None})))
    assert isinstance(failure, Failure)
    assert (failure.id, failure.code, failure.message, failure.data) == (None, -1, 'no "way"', {"a": None})


def test_null_params_count_as_absent() -> None:
    request = classify({"jsonrpc": "2.0", "id": 1, "method": "x", "params": None})
    assert isinstance(request, Request) and request.params is None


def test_any_bytes_give_a_value_or_a_reason(seed: int = 7) -> None:
    """Two thousand texts, each a valid one with a few bytes changed, cut or doubled: no other exception, ever."""
    chance = random.Random(seed)
    origin = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[1,2.5,"\\u00e9",null,true]}}'
    for _ in range(2000):
        text = bytearray(origin)
        for _ in range(chance.randrange(1, 6)):
            place = chance.randrange(len(text))
            match chance.randrange(3):
                case 0:
                    text[place] = chance.randrange(256)
                case 1:
                    del text[place:]
                    text += b"{"
                case _:
                    text[place:place] = text[place : place + chance.randrange(20)]
        try:
            classify(parse(bytes(text)))
        except Fault as error:
            assert error.code in (-32700, -32600) and error.reason


def test_all_readers_agree() -> None:
    """Texts for the fast path and for the slow one are read alike, and as the standard library reads them."""
    chance = random.Random(11)

    def value(depth: int) -> Any:
        match chance.randrange(8 if depth else 6):
            case 0:
                return chance.choice([0, -0.0, 1.0, 1e16, 1.5e-7, 2**70, -(2**63)])
            case 1:
                return chance.choice(["", "a", "\u20ac", "\U0001f600", "\x7f", "\u2028", '"\\/\b\n'])
            case 2:
                return chance.choice([True, False, None])
            case 3 | 4 | 5:
                return chance.randrange(100)
            case 6:
                return [value(depth - 1) for _ in range(chance.randrange(4))]
            case _:
                return {chance.choice("abcdef"): value(depth - 1) for _ in range(chance.randrange(4))}

    for _ in range(2000):
        origin = value(4)
        compact = json.dumps(origin, separators=(",", ":"), ensure_ascii=False)
        for form in (compact, json.dumps(origin), json.dumps(origin, indent=1), f" {compact}\n"):
            read = parse(form.encode())
            assert read == json.loads(form) and repr(read) == repr(json.loads(form))


WEIGHTS = {b"1": 1, b"[]": 3, b'{"":[]}': 7, b'"a,b"': 1, b'"\\\\"': 1}
"""What values in a list count, with the comma before them."""


@pytest.mark.parametrize("value", WEIGHTS)
def test_a_message_has_a_limited_number_of_values(value: bytes) -> None:
    def message(number: int) -> bytes:
        return b'{"id":7,"method":"x","params":[%b]}' % b",".join([value] * number)

    most = (MAX_VALUES - 11) // WEIGHTS[value]
    assert len(parse(message(most))["params"]) == most
    with pytest.raises(Fault, match="more than 400,000 values") as caught:
        parse(message(most + 12))
    assert (caught.value.code, caught.value.id) == (-32700, 7)


def test_separators_in_texts_do_not_count() -> None:
    text = ',:[{"\\\n' * 300_000
    assert parse(json.dumps({"text": text, text: [text, ""]}).encode())["text"] == text
