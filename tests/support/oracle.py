"""An independent reading of a schema.json: the messages that it lets a peer send, and those that a peer accepts.

It shares no code with the diff. Messages are validated by jsonschema as given, and read as their receiver does:
requests by the root unions, results by their `resultType`.
"""

from collections.abc import Iterator
from typing import Any

import jsonschema
from referencing.exceptions import Unresolvable

from support.mutants import Json, is_list, is_object, listed, references

TO_SERVER, TO_CLIENT = "client to server", "server to client"
UNIONS = {TO_SERVER: ("ClientRequest", "ClientNotification"), TO_CLIENT: ("ServerRequest", "ServerNotification")}
BACK = {TO_SERVER: TO_CLIENT, TO_CLIENT: TO_SERVER}
TAGS = {"InputRequiredResult": "input_required"}


class Side:
    """One schema.json: what it lets either peer send."""

    def __init__(self, tree: Json) -> None:
        self.container = "$defs" if "$defs" in tree else "definitions"
        self.all: dict[str, Json] = {**tree[self.container], **dict(_inline(tree[self.container]))}
        dialect: Any = jsonschema.Draft7Validator if "draft-07" in tree["$schema"] else jsonschema.Draft202012Validator
        self._root = dialect(tree)
        self._validators: dict[str, Any] = {}
        self.references = {name: frozenset(references(node)) for name, node in self.all.items()}
        self.messages = {travel: dict(self._messages(unions)) for travel, unions in UNIONS.items()}
        self.errors = dict(self._errors())

    def _messages(self, unions: tuple[str, str]) -> Iterator[tuple[str, tuple[str, bool]]]:
        for root in reversed(unions):
            for name in (*listed(self.all, root), *(name for name in self.all if name.startswith(f"{root}/"))):
                method = self.all.get(name, {}).get("properties", {}).get("method", {})
                values = [method["const"]] if "const" in method else method.get("enum", [])
                yield from ((value, (name, root == unions[0])) for value in values)

    def _errors(self) -> Iterator[tuple[int, str]]:
        for name, node in self.all.items():
            for part in (node, *node.get("allOf", ())):
                inner = part.get("properties", {}).get("error", part if part is node else {})
                for nested in (inner, *inner.get("allOf", ())):
                    code = nested.get("properties", {}).get("code", {}).get("const")
                    if isinstance(code, int) and code > -32600:  # The others are those of JSON-RPC itself.
                        yield code, name

    def responds(self, travel: str) -> bool:
        """Whether peers send responses in a direction: without a handshake, only servers do."""
        return travel == TO_CLIENT or "server/discover" not in self.messages[TO_SERVER]

    def accepts(self, name: str, value: Json) -> bool:
        if name not in self._validators:
            schema = self.all[name] if "/" in name else {"$ref": f"#/{self.container}/{name}"}
            self._validators[name] = self._root.evolve(schema=schema)
        try:
            return bool(self._validators[name].is_valid(value))
        except (Unresolvable, RecursionError):
            return False

    def forms(self, message: str) -> list[str]:
        """Return the forms of the result of a request."""
        own = self._name(message) + "Result"
        stated = self.all.get(f"{own}Response", {}).get("properties", {}).get("result", {})
        names = [name for name in references(stated) if name in self.all]
        return names or [next(n for n in (own, "EmptyResult", "Result") if n in self.all)]

    def _name(self, message: str) -> str:
        """Return the name of a message without its kind; an inline one is named after its method."""
        method: Any = self.all[message]["properties"]["method"] if "/" in message else {}
        words: list[str] = method.get("const", "").split("/")
        return "".join(w[:1].upper() + w[1:] for w in reversed(words)) or message.removesuffix("Request")

    def tag(self, name: str) -> str:
        node = self.all.get(name, {}).get("properties", {}).get("resultType", {})
        return str(node.get("const") or TAGS.get(name, "complete"))

    def _makes_tasks(self, message: str) -> bool:
        """Whether a request may be answered with a task: its params ask."""
        params = self.all[message].get("properties", {}).get("params", {})
        own = [params, self.all.get(params.get("$ref", "").rpartition("/")[2], {})]
        return "CreateTaskResult" in self.all and any("task" in node.get("properties", {}) for node in own)

    def takes_frame(self, message: Json) -> bool:
        """Whether a frame is valid: receivers tell the kinds apart by their properties."""
        keys = message.keys() if is_object(message) else set[str]()
        names = {
            "JSONRPCRequest": {"method", "id"} <= keys,
            "JSONRPCNotification": "method" in keys,
            "JSONRPCErrorResponse": "error" in keys,
            "JSONRPCError": "error" in keys,
            "JSONRPCResultResponse": "result" in keys,
            "JSONRPCResponse": "result" in keys,
            "JSONRPCMessage": True,
        }
        name = next((name for name, fits in names.items() if fits and name in self.all), "")
        return not name or self.accepts(name, message)

    def takes(self, travel: str, method: str, message: Json, *, sends: bool = False) -> bool:
        """Whether a peer accepts a message, or may send it; `method` is that of the request that a result answers."""
        if sends and is_object(message) and "method" not in message and not self.responds(travel):
            return False
        if not is_object(message) or not {"method", "result", "error"} & message.keys():
            batch = message if is_list(message) and sends else ()
            return all(self._is_sent(travel, one) for one in batch) and self.takes_frame(message)
        if "error" in message:
            code: Json = message["error"].get("code") if is_object(message["error"]) else None
            known = self.errors.get(code) if isinstance(code, int) else None
            of_error = known and "error" not in self.all[known].get("properties", {}) and "allOf" not in self.all[known]
            return (
                self.accepts(known, message["error"] if of_error else message) if known else self.takes_frame(message)
            )
        if "method" in message:
            if not self.takes_frame(message):
                return False
            called: Json = message["method"]
            name, is_request = self.messages[travel].get(called if isinstance(called, str) else "", ("", False))
            if is_request != ("id" in message):
                return not sends and "id" not in message
            return (bool(name) and self.accepts(name, message)) or (not name and "id" not in message and not sends)
        result, (name, is_request) = message["result"], self.messages[BACK[travel]].get(method, ("", False))
        # The frame says little about the result of this request: it takes the least of objects, or this very value.
        usual = {**message, "result": {"resultType": "complete"}}
        if not is_request or not (self.takes_frame(usual) or self.takes_frame(message)):
            return not sends and not is_request
        tag = result.get("resultType", "complete") if is_object(result) else "complete"
        forms = self.forms(name)
        if is_object(result) and "task" in result and self._makes_tasks(name):
            return self.accepts("CreateTaskResult", result)
        if tag not in ("complete", *TAGS.values(), *map(self.tag, forms)):
            # Clients reject a tag that they do not know (2026-07-28 basic/index, ResultType); extensions send others.
            if not sends and any("resultType" in self.all[form].get("properties", {}) for form in forms):
                return False
            tag = "complete"
        return any(self.accepts(form, result) for form in forms if self.tag(form) == tag)

    def _is_sent(self, travel: str, message: Json) -> bool:
        """Whether a peer sends a message in a batch: a request or notification of its own, or any result or error."""
        if is_object(message) and "method" in message:
            return self.takes(travel, "", message, sends=True)
        return not is_object(message) or is_object(message.get("result", {}))


def _inline(all_: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Iterate over the messages that are written out in a root union, under names of their own."""
    for root in (root for unions in UNIONS.values() for root in unions):
        members = all_.get(root, {}).get("anyOf", ())
        yield from ((f"{root}/{n}", member) for n, member in enumerate(members) if "properties" in member)
