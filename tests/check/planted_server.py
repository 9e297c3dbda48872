"""A correct server of one revision, of either era, in which bugs are planted."""

from collections.abc import Callable
from typing import Any, Final

META: Final = "io.modelcontextprotocol/"
TOOL: Final[dict[str, Any]] = {
    "name": "add",
    "description": "Adds.",
    "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "integer", "maximum": 9, "description": "A number."}},
        "required": ["a"],
    },
    "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "annotations": {"readOnlyHint": True},
    "execution": {"taskSupport": "optional"},
}
OFFERS: Final[dict[str, Any]] = {
    "tools": {},
    "resources": {"subscribe": True},
    "prompts": {},
    "completions": {},
    "logging": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}


class Refused(Exception):
    """An error response: its code."""


class Server:
    """The server.

    Attributes:
        revision: the only revision that it speaks.
        changed: handlers that a bug replaces, by method.
        task: the state of its only kind of task.
    """

    def __init__(self, revision: str) -> None:
        self.revision = revision
        self.is_modern = revision >= "2026"
        self.changed: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
        self.edit: Callable[[dict[str, Any], dict[str, Any]], Any] = lambda message, answer: answer
        self.notify: Callable[[dict[str, Any]], Any] = lambda message: None
        self.tasks: dict[str, str] = {}
        self.offers: dict[str, Any] = {
            key: value for key, value in OFFERS.items() if revision == "2025-11-25" or key != "tasks"
        }
        if self.is_modern:
            self.offers["tools"] = {"listChanged": True}
        self.pages = True
        self.checks_levels = True

    def result(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a request."""
        method, params = message["method"], message.get("params", {})
        if self.is_modern and method == "initialize":
            raise Refused(-32601)
        if self.is_modern:
            meta = params.get("_meta", {})
            if not isinstance(meta.get(f"{META}protocolVersion"), str) or f"{META}clientCapabilities" not in meta:
                raise Refused(-32602)
            if meta[f"{META}protocolVersion"] != self.revision:
                raise Refused(-32022)
            if meta.get(f"{META}logLevel") == "loud" and self.checks_levels:
                raise Refused(-32602)
        if method in self.changed:
            return self.changed[method](params)
        handler = getattr(self, method.replace("/", "_").replace("Level", "_level"), None)
        if handler is None or (method in ("initialize", "ping", "logging/setLevel") and self.is_modern):
            raise Refused(-32601)
        result: dict[str, Any] = handler(params)
        return result

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": self.revision,
            "capabilities": self.offers,
            "serverInfo": {"name": "p", "version": "1"},
        }

    def server_discover(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"supportedVersions": [self.revision], "capabilities": self.offers, **self.cached()}

    def cached(self) -> dict[str, Any]:
        return {"ttlMs": 0, "cacheScope": "private"} if self.is_modern else {}

    def ping(self, params: dict[str, Any]) -> dict[str, Any]:
        return {}

    def tools_list(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("cursor") not in (None, "2"):
            raise Refused(-32602)
        tool = TOOL if self.revision == "2025-11-25" else {k: v for k, v in TOOL.items() if k != "execution"}
        if params.get("cursor") == "2" or not self.pages:
            return {"tools": [tool] if not self.pages else [], **self.cached()}
        return {"tools": [tool], "nextCursor": "2", **self.cached()}

    def tools_call(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("name") != "add":
            raise Refused(-32602)
        if "task" in params:
            id_ = f"task-{len(self.tasks)}"
            self.tasks[id_] = "completed"
            return {"task": {**self.tasks_get({"taskId": id_}), "status": "working"}}
        a = params.get("arguments", {}).get("a")
        if type(a) is not int or a > 9:
            return {"content": [{"type": "text", "text": "a must be an integer up to 9"}], "isError": True}
        return {"content": [{"type": "text", "text": str(a)}], "structuredContent": {"n": a}}

    def tasks_get(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["taskId"] not in self.tasks:
            raise Refused(-32602)
        now = "2026-01-01T00:00:00Z"
        status = self.tasks[params["taskId"]]
        return {"taskId": params["taskId"], "status": status, "createdAt": now, "lastUpdatedAt": now, "ttl": None}

    def tasks_list(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("cursor") is not None:
            raise Refused(-32602)
        return {"tasks": [self.tasks_get({"taskId": id_}) for id_ in self.tasks]}

    def tasks_result(self, params: dict[str, Any]) -> dict[str, Any]:
        self.tasks_get(params)
        related = {f"{META}related-task": {"taskId": params["taskId"]}}
        return {"content": [], "structuredContent": {"n": 0}, "_meta": related}

    def tasks_cancel(self, params: dict[str, Any]) -> dict[str, Any]:
        raise Refused(-32602)

    def resources_list(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"resources": [{"uri": "note://a", "name": "a"}], **self.cached()}

    def resources_templates_list(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"resourceTemplates": [], **self.cached()}

    def resources_read(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["uri"] != "note://a":
            raise Refused(-32602 if self.is_modern else -32002)
        return {"contents": [{"uri": "note://a", "text": "a"}], **self.cached()}

    def resources_subscribe(self, params: dict[str, Any]) -> dict[str, Any]:
        return {}

    def resources_unsubscribe(self, params: dict[str, Any]) -> dict[str, Any]:
        return {}

    def prompts_list(self, params: dict[str, Any]) -> dict[str, Any]:
        prompt = {"name": "teach", "arguments": [{"name": "topic", "required": True}]}
        return {"prompts": [prompt], **self.cached()}

    def prompts_get(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["name"] != "teach" or "topic" not in params.get("arguments", {}):
            raise Refused(-32602)
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "Teach."}}]}

    def completion_complete(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["ref"].get("name") != "teach":
            raise Refused(-32602)
        return {"completion": {"values": []}}

    def logging_set_level(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["level"] not in ("debug", "info", "warning", "error"):
            raise Refused(-32602)
        return {}

    def answer(self, message: dict[str, Any]) -> Any:
        """Return the answer to a message; None for none."""
        if "id" not in message:
            return self.notify(message)
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "subscriptions/listen":
            params = {"notifications": {"toolsListChanged": True}, "_meta": {f"{META}subscriptionId": message["id"]}}
            return {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}
        try:
            result = self.result(message)
        except Refused as refused:
            (code,) = refused.args
            data = {"data": {"supported": [self.revision], "requested": ""}} if code == -32022 else {}
            named = {"data": {"supported": [self.revision]}} if self.is_modern and code == -32601 else {}
            return self.edit(message, {**answer, "error": {"code": code, "message": "no", **data, **named}})
        info = {f"{META}serverInfo": {"name": "p", "version": "1"}}
        modern = {"resultType": "complete", "_meta": info} if self.is_modern else {}
        return self.edit(message, {**answer, "result": {**modern, **result}})
