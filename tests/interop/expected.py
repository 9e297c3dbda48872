"""What every client must observe in the scenarios at every server of the interop tests, as JSON."""

from collections.abc import Sequence
from typing import Any

from interop.peers import offer
from interop.peers.offer import Json

INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002

README: Json = {"uri": "memo://readme", "mimeType": "text/plain", "text": "Read me."}
LOGO: Json = {"uri": "memo://logo", "mimeType": "image/png", "blob": offer.PIXEL}


def expected(revision: str, *, tasks: bool) -> dict[str, Any]:
    """Return the expected outcome of each scenario of a revision; `tasks` says whether both sides support tasks."""
    seen = {
        **_session(revision),
        **_tools(revision),
        **_resources(revision),
        **_prompts(revision),
        **_asked_by_the_server(revision),
    }
    if offer.since(revision, "2025-11-25"):
        seen["tasks"] = _tasks() if tasks else {"offered": False}
    return seen


def _session(revision: str) -> Json:
    changing: Json = {"listChanged": True}
    capabilities: Json = {
        "logging": {},
        "prompts": changing,
        "resources": {**changing, "subscribe": True},
        "tools": changing,
    }
    if offer.since(revision, "2025-03-26"):
        capabilities["completions"] = {}
    return {
        "initialize": {
            "protocolVersion": revision,
            "serverInfo": {"name": offer.NAME, "version": offer.VERSION},
            "instructions": offer.INSTRUCTIONS,
            "capabilities": capabilities,
        },
        "whoami": {
            "name": offer.CLIENT_NAME,
            "version": offer.CLIENT_VERSION,
            "has": list(offer.client_features(revision)),
        },
        "ping": {"ours": {}, "theirs": {}},
        "logging": {level: _log(level) for level in ("warning", "debug")},
        "list_changed": {"tools": 1, "resources": 1, "prompts": 1},
    }


def _log(threshold: str) -> list[Json]:
    levels = offer.LEVELS[offer.LEVELS.index(threshold) :]
    return [{"level": level, "logger": offer.NAME, "data": {"at": level}} for level in levels]


def _tools(revision: str) -> Json:
    texts = revision >= "2025-03-26"
    added: Json = _text("5")
    if offer.since(revision, "2025-06-18"):
        added["structuredContent"] = {"sum": 5}
    return {
        "tools_list": {
            "pages": _pages([tool["name"] for tool in offer.tools(revision)]),
            "add": offer.add_tool(revision),
        },
        "tools_call": added,
        "tools_content": offer.content(revision),
        "tools_error": {**_text("it failed"), "isError": True},
        "tools_unknown": INVALID_PARAMS,
        "tools_meta": {"interop/echo": "abc"},
        "progress": [[step, 3, f"step {step}" if texts else None] for step in (1, 2, 3)],
        "cancellation": 1,
        "concurrency": {"sum": "2"} | {word: f"parrot (endTurn): {word.upper()}" for word in ("one", "two", "three")},
    }


def _resources(revision: str) -> Json:
    listed = offer.resources(revision)
    return {
        "resources_list": {"pages": _pages([item["uri"] for item in listed]), "first": listed[0]},
        "resources_templates": _pages(offer.TEMPLATES),
        "resources_read": {
            "memo://readme": [README],
            "memo://logo": [LOGO],
            "memo://notes/todo": [{"uri": "memo://notes/todo", "text": "notes todo"}],
        },
        "resources_unknown": RESOURCE_NOT_FOUND,
        "resources_subscribe": {"subscribe": [{"uri": "memo://readme"}], "unsubscribe": []},
    }


def _prompts(revision: str) -> Json:
    listed = offer.prompts(revision)
    greeting = {"type": "text", "text": "Say hello to Ada, funny."}
    completion = {
        "prompt": _completion("formal", "friendly", "funny"),
        "template": _completion("shopping", "ship's log"),
    }
    if offer.since(revision, "2025-06-18"):
        completion["context"] = _completion("ship's log")
    return {
        "prompts_list": {"pages": _pages([item["name"] for item in listed]), "first": listed[0]},
        "prompts_get": [
            {
                "description": "A greeting.",
                "messages": [
                    {"role": "user", "content": greeting},
                    {"role": "assistant", "content": {"type": "image", "data": offer.PIXEL, "mimeType": "image/png"}},
                ],
            },
            {"messages": [{"role": "user", "content": {"type": "resource", "resource": README}}]},
        ],
        "prompts_wrong": {"argument": INVALID_PARAMS, "name": INVALID_PARAMS},
        "completion": completion,
    }


def _asked_by_the_server(revision: str) -> Json:
    seen: Json = {
        "sampling": {
            "asked": [
                {
                    "messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}],
                    "maxTokens": 100,
                    "systemPrompt": "Be brief.",
                    "temperature": 0.5,
                    "stopSequences": ["."],
                    "modelPreferences": {"hints": [{"name": "small"}], "speedPriority": 1},
                }
            ],
            "answer": "parrot (endTurn): HELLO",
        },
        "sampling_denied": f"error {offer.DENIED}",
        "roots": [{"changes": 0, "roots": offer.ROOTS[:1]}, {"changes": 1, "roots": offer.ROOTS}],
    }
    if offer.since(revision, "2025-06-18"):
        answers = {word: {"content": None, **offer.ANSWERS[word]} for word in ("accept", "decline", "cancel")}
        seen["elicitation"] = {"schema": offer.FORM, "answers": answers}
    if offer.since(revision, "2025-11-25"):
        asked = {"mode": "url", "message": "Sign in", "url": "https://example.com/sign-in", "elicitationId": "e-1"}
        question = {"type": "text", "text": "What is 1 + 2?"}
        seen["sampling_with_tools"] = {"turns": [question, [offer.TOOL_RESULT]], "answer": "It is 3."}
        seen["elicitation_url"] = {"asked": [asked], "action": "accept", "completed": [{"elicitationId": "e-1"}]}
    return seen


def _tasks() -> Json:
    return {
        "offered": True,
        "created": "working",
        "ttl": 60000,
        "result": _text("worked 1 steps")["content"],
        "after": "completed",
        "cancelled": "cancelled",
        "listed": ["cancelled", "completed"],
        "again": INVALID_PARAMS,
        "unknown": INVALID_PARAMS,
        "asked": offer.ANSWERS["accept"],
    }


def _text(words: str) -> Json:
    return {"content": [{"type": "text", "text": words}]}


def _completion(*values: str) -> Json:
    return {"values": list(values), "total": len(values), "hasMore": False}


def _pages(items: Sequence[Any]) -> list[Any]:
    return [list(items[start : start + offer.PAGE]) for start in range(0, len(items), offer.PAGE)]
