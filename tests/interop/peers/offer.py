"""What every server of the interop tests offers, as on the wire, so that one list of expectations fits them all.

Imported by peers that run in separate environments: standard library only.
"""

import base64
from typing import Any

Json = dict[str, Any]

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
PAGE = 3
"""How many items a page of any list holds."""
CLIENT_NAME, CLIENT_VERSION = "interop client", "2.0"
NAME, VERSION, INSTRUCTIONS = "interop", "1.0", "Offers one of everything."
SCENARIOS_SINCE = {
    "elicitation": "2025-06-18",
    "elicitation_url": "2025-11-25",
    "sampling_with_tools": "2025-11-25",
    "tasks": "2025-11-25",
}
"""The revision since which a scenario makes sense; the others do in all."""
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
PIXEL = base64.b64encode(b"\x89PNG not really").decode()
SOUND = base64.b64encode(b"RIFF not really").decode()
FORM: Json = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Name"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}
STYLES = ("formal", "friendly", "funny")
ROOTS: list[Json] = [{"uri": "file:///srv/one", "name": "one"}, {"uri": "file:///srv/two%20words"}]
"""The roots of a client: the first from the beginning, both after it has said that they changed."""
ANSWERS: dict[str, Json] = {
    "accept": {"action": "accept", "content": {"name": "Ada", "age": 36}},
    "decline": {"action": "decline"},
    "cancel": {"action": "cancel"},
    "Sign in": {"action": "accept"},
}
"""What the user of a client answers, by the question."""
FORBIDDEN, DENIED = "something forbidden", -1
"""What a client does not ask its model, and the code of the error it answers with."""
TOOL_USE: Json = {"type": "tool_use", "id": "t-1", "name": "add", "input": {"a": 1, "b": 2}}
"""What the model of a client answers if it is offered tools and has no result of one yet."""
TOOL_RESULT: Json = {"type": "tool_result", "toolUseId": "t-1", "content": [{"type": "text", "text": "3"}]}
NOTES = ("shopping", "ship's log", "todo")


def since(revision: str, first: str) -> bool:
    """Return whether a revision is at least as new as the one that introduced a feature."""
    return revision >= first


def client_features(revision: str) -> tuple[str, ...]:
    """Return the capabilities that clients of the interop tests declare."""
    return ("roots", "sampling", "elicitation") if since(revision, "2025-06-18") else ("roots", "sampling")


def _schema(properties: Json, required: tuple[str, ...] = ()) -> Json:
    return {"type": "object", "properties": properties, "required": list(required)}


def add_tool(revision: str) -> Json:
    """Return the tool `add` with every property that the revision has for tools."""
    number = {"type": "integer"}
    tool: Json = {
        "name": "add",
        "description": "Adds two integers.",
        "inputSchema": _schema({"a": number, "b": number}, ("a", "b")),
    }
    if since(revision, "2025-03-26"):
        tool["annotations"] = {"title": "Sum", "readOnlyHint": True}
    if since(revision, "2025-06-18"):
        tool["title"] = "Add"
        tool["outputSchema"] = _schema({"sum": number}, ("sum",))
    return tool


def tools(revision: str) -> list[Json]:
    """Return the tools of a revision, in the order of the list."""
    arguments: dict[str, Json] = {
        "ask_model": _schema({"prompt": {"type": "string"}}, ("prompt",)),
        "cancelled_calls": _schema({}),
        "change_lists": _schema({}),
        "content": _schema({}),
        "count": _schema({"steps": {"type": "integer"}}, ("steps",)),
        "echo_meta": _schema({}),
        "fail": _schema({}),
        "log_all": _schema({}),
        "ping_back": _schema({}),
        "roots": _schema({}),
        "slow": _schema({}),
        "touch": _schema({"uri": {"type": "string"}}, ("uri",)),
        "whoami": _schema({}),
    }
    if since(revision, "2025-06-18"):
        arguments["ask_user"] = _schema({"question": {"type": "string"}}, ("question",))
    if since(revision, "2025-11-25"):
        arguments["ask_user_elsewhere"] = _schema({})
        arguments["ask_model_with_tools"] = _schema({})
        arguments["work"] = _schema({"steps": {"type": "integer"}}, ("steps",))
    plain: list[Json] = [{"name": name, "inputSchema": arguments[name]} for name in sorted(arguments)]
    for tool in plain:
        if since(revision, "2025-11-25") and tool["name"] in ("ask_user", "work"):
            tool["execution"] = {"taskSupport": "optional"}
    return [add_tool(revision), *plain]


def content(revision: str) -> list[Json]:
    """Return one item of every kind of content that a tool may return."""
    items: list[Json] = [
        {"type": "text", "text": "é😀\u2028", "annotations": {"audience": ["user"], "priority": 0.5}},
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "memo://readme", "mimeType": "text/plain", "text": "Read me."}},
    ]
    if since(revision, "2025-03-26"):
        items.append({"type": "audio", "data": SOUND, "mimeType": "audio/wav"})
    if since(revision, "2025-06-18"):
        items.append({"type": "resource_link", "uri": "memo://logo", "name": "logo", "mimeType": "image/png"})
    return items


def resources(revision: str) -> list[Json]:
    """Return the resources of a revision, in the order of the list."""
    readme: Json = {"uri": "memo://readme", "name": "readme", "mimeType": "text/plain", "size": 8}
    if since(revision, "2025-06-18"):
        readme["title"] = "Read me first"
    plain = [{"uri": f"memo://page/{n}", "name": f"page {n}"} for n in range(PAGE)]
    return [readme, {"uri": "memo://logo", "name": "logo", "mimeType": "image/png"}, *plain]


TEMPLATES: list[Json] = [
    {"uriTemplate": "memo://notes/{name}", "name": "note", "description": "A note by its name."},
    {"uriTemplate": "memo://page/{number}", "name": "page"},
    {"uriTemplate": "memo://a/{x}", "name": "a"},
    {"uriTemplate": "memo://b/{x}", "name": "b"},
]


def read(uri: str) -> Json | None:
    """Return the contents of a resource, None if it does not exist."""
    if uri == "memo://readme":
        return {"uri": uri, "mimeType": "text/plain", "text": "Read me."}
    if uri == "memo://logo":
        return {"uri": uri, "mimeType": "image/png", "blob": PIXEL}
    kind, _, name = uri.removeprefix("memo://").partition("/")
    if kind in ("notes", "page") and name:
        return {"uri": uri, "text": f"{kind} {name}"}
    return None


def prompts(revision: str) -> list[Json]:
    """Return the prompts of a revision, in the order of the list."""
    greet: Json = {
        "name": "greet",
        "description": "Greets somebody.",
        "arguments": [
            {"name": "name", "description": "The person to greet.", "required": True},
            {"name": "style"},
        ],
    }
    if since(revision, "2025-06-18"):
        greet["title"] = "Greet"
    return [greet, {"name": "readme"}, *({"name": f"plain {n}"} for n in range(PAGE))]


def prompt(name: str, arguments: dict[str, str]) -> Json | None:
    """Return the messages of a prompt, None if it does not exist."""
    if name == "greet":
        text = f"Say hello to {arguments['name']}, {arguments.get('style', 'plain')}."
        return {
            "description": "A greeting.",
            "messages": [
                {"role": "user", "content": {"type": "text", "text": text}},
                {"role": "assistant", "content": {"type": "image", "data": PIXEL, "mimeType": "image/png"}},
            ],
        }
    if name == "readme":
        return {"messages": [{"role": "user", "content": {"type": "resource", "resource": read("memo://readme")}}]}
    if name.startswith("plain "):
        return {"messages": [{"role": "user", "content": {"type": "text", "text": name}}]}
    return None


def complete(ref: Json, argument: Json, context: Json) -> list[str]:
    """Return the completions of an argument of a prompt or of a resource template."""
    if ref["type"] == "ref/prompt" and (ref["name"], argument["name"]) == ("greet", "style"):
        choice = list(STYLES)
    elif ref["type"] == "ref/resource" and (ref["uri"], argument["name"]) == ("memo://notes/{name}", "name"):
        choice = list(NOTES)
    else:
        choice = []
    taken = context.get("arguments", {}).values()
    return [value for value in choice if value.startswith(argument["value"]) and value not in taken]
