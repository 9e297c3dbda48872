"""What earlier messages of a conversation require of later ones: cursors, states, output schemas, tasks."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import Id, Request, Result, dump
from mcp_runtime.core.protocol.names import (
    ELICITATION_CREATE,
    NOTIFICATIONS_TASKS_STATUS,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_LIST,
    TOOLS_CALL,
    TOOLS_LIST,
    list_changed,
)
from mcp_runtime.core.protocol.rules import Broken
from mcp_runtime.extensions.tasks.states import TRANSITIONS, Status
from mcp_runtime.observe.ends import Asked

MAX_KNOWN: Final = 10_000
"""How many cursors and states, tools, tasks and web pages are remembered, of each."""
MAX_SCHEMA: Final = 16_384
"""The longest output schema, in bytes, that is remembered."""


class Known:
    """What earlier messages contained. Texts are remembered by their hashes.

    Attributes:
        is_incomplete: whether a message was not read, so that unknown values are not reported.
    """

    def __init__(self) -> None:
        self.is_incomplete = False
        self._said: dict[int, Any] = {}
        self._pages: OrderedDict[tuple[Side, int], None] = OrderedDict()
        self._has_asked = False
        self._outputs: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._tasks: OrderedDict[tuple[Side, str], Status] = OrderedDict()
        self._created: OrderedDict[tuple[Side, str], None] = OrderedDict()

    def request(self, sender: Side, request: Request) -> Iterator[Broken]:
        """Check a request against earlier messages."""
        method, params = request.method, request.params or {}
        for name, what in (("cursor", "no page had this cursor"), ("requestState", "no result had this state")):
            value: Any = params.get(name)
            if isinstance(value, str) and not self._was_said(method, name, value):
                yield Broken(f"/params/{name}", what)
            elif (
                name == "requestState"
                and isinstance(value, str)
                and self._what_was_said(method, name, value) == request.id
            ):
                yield Broken("/id", "a retry must have a new id")
        page: Any = params.get("elicitationId") if method == ELICITATION_CREATE else None
        if isinstance(page, str):
            if (sender, hash(page)) in self._pages:
                yield Broken("/params/elicitationId", "another elicitation had this id")
            _put(self._pages, (sender, hash(page)), None)
        if params.get("inputResponses") and not (self._has_asked or self.is_incomplete):
            yield Broken("/params/inputResponses", "no earlier result asked for input")

    def result(self, sender: Side, asked: Asked, answer: Result, *, has_outputs: bool) -> Iterator[Broken]:
        """Check a result against earlier messages, and remember what it contains.

        Args:
            sender: the side that sent it.
            asked: its request.
            answer: the result.
            has_outputs: whether tools of the revision may have output schemas.
        """
        method, subject, result = asked.name, asked.subject, answer.result
        scope: Any = result.get("cacheScope")
        before: Any = None if asked.cursor is None else self._what_was_said(method, "cursor", asked.cursor)
        if before is not None and scope != before:
            yield Broken("/result/cacheScope", f"must be {before}, as on the previous page of the list")
        self._say(method, "cursor", result.get("nextCursor"), scope)
        self._say(method, "requestState", result.get("requestState"), answer.id)
        self._has_asked |= bool(result.get("inputRequests"))
        if method == TOOLS_LIST and has_outputs:
            self._listed(result.get("tools"))
        elif (
            method == TOOLS_CALL
            and subject is not None
            and subject in self._outputs
            and result.get("resultType", "complete") == "complete"
        ):
            yield from self._output(self._outputs[subject], result)
        if is_object(result.get("task")):
            yield from self._task(sender, result["task"], "/result/task", begins=True)
        elif method in (TASKS_GET, TASKS_CANCEL):
            yield from self._task(sender, result, "/result")
        elif method == TASKS_LIST:
            tasks: Any = result.get("tasks")
            for index, task in enumerate(tasks if is_array(tasks) else ()):
                yield from self._task(sender, task, f"/result/tasks/{index}")

    def notification(self, sender: Side, method: str, params: Mapping[str, Any]) -> Iterator[Broken]:
        """Check a notification against earlier messages, and remember what it contains."""
        if method == NOTIFICATIONS_TASKS_STATUS:
            yield from self._task(sender, params, "/params")
        elif method == list_changed("tools"):
            self._outputs.clear()

    def _was_said(self, method: str, name: str, value: str) -> bool:
        return self.is_incomplete or hash((method, name, value)) in self._said

    def _what_was_said(self, method: str, name: str, value: str) -> Any:
        """Return what was sent along with a cursor or a state; None if nothing was, or if it is unknown."""
        return self._said.get(hash((method, name, value)))

    def _say(self, method: str, name: str, value: Any, along: Id | None) -> None:
        if not isinstance(value, str):
            return
        if len(self._said) < MAX_KNOWN:
            self._said[hash((method, name, value))] = along
        else:
            self.is_incomplete = True

    def _listed(self, tools: Any) -> None:
        for tool in tools if is_array(tools) else ():
            name: Any = tool.get("name") if is_object(tool) else None
            schema: Any = tool.get("outputSchema") if is_object(tool) else None
            if isinstance(name, str):
                self._outputs.pop(name, None)
                if is_object(schema) and len(dump(schema)) <= MAX_SCHEMA and len(name) <= MAX_SCHEMA:
                    _put(self._outputs, name, schema)

    @staticmethod
    def _output(schema: dict[str, Any], result: Mapping[str, Any]) -> Iterator[Broken]:
        """Check structured content against the schema of its tool (server/tools, "Output Schema")."""
        from mcp_runtime.json_schema.check import ExhaustedSchema  # Few servers have such schemas.
        from mcp_runtime.tools.errors import BRIEF, compiled, find_mismatch

        if "task" in result or result.get("isError") is True:
            return
        if "structuredContent" not in result:
            yield Broken("/result", "the tool has an output schema, but there is no structuredContent")
            return
        # What takes longer is not judged: an observer may be part of a program that must go on meanwhile.
        with suppress(ModuleNotFoundError, ExhaustedSchema):
            if mismatch := find_mismatch(compiled(dump(schema).decode()), result["structuredContent"], BRIEF):
                yield Broken(f"/result/structuredContent{mismatch.pointer}", mismatch.reason)

    def _task(self, sender: Side, task: Any, place: str, *, begins: bool = False) -> Iterator[Broken]:
        """Check the state of a task against its previous one (2025-11-25, basic/utilities/tasks)."""
        id_: Any = task.get("taskId") if is_object(task) else None
        if not isinstance(id_, str) or len(id_) > MAX_SCHEMA or task.get("status") not in set(Status):
            return
        status = Status(task["status"])
        before = self._tasks.get((sender, id_))
        if begins and status is not Status.WORKING:
            yield Broken(f"{place}/status", "a new task must have the status working")
        elif begins and (sender, id_) in self._created:
            yield Broken(f"{place}/taskId", "another task had this id")
        elif not begins and before is not None and status is not before and status not in TRANSITIONS[before]:
            yield Broken(f"{place}/status", f"a task that is {before} cannot become {status}")
        if begins:
            _put(self._created, (sender, id_), None)
        if not begins or before is None:  # a notification may come before the response that creates the task
            _put(self._tasks, (sender, id_), status)


def _put(held: "OrderedDict[Any, Any]", key: Any, value: Any) -> None:
    held[key] = value
    if len(held) > MAX_KNOWN:
        held.popitem(last=False)
