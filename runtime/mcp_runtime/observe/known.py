"""What was said earlier in a conversation and binds what follows: cursors, states, output schemas, tasks."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcp_runtime.features.tasks.states import TRANSITIONS, Status
from mcp_runtime.protocol.jsonrpc import dump, is_array, is_object
from mcp_runtime.protocol.legacy import Side
from mcp_runtime.protocol.names import (
    NOTIFICATIONS_TASKS_STATUS,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_LIST,
    TOOLS_CALL,
    TOOLS_LIST,
    list_changed,
)
from mcp_runtime.protocol.rules import Broken

MAX_KNOWN: Final = 10_000
"""How many cursors, states, tools and tasks are remembered, of each."""
MAX_SCHEMA: Final = 16_384
"""The longest output schema, in bytes, that is remembered."""


class Known:
    """What was said so far. Texts are remembered by their hashes.

    Attributes:
        is_incomplete: whether something was said that was not read, so that what was never said is not judged.
    """

    def __init__(self) -> None:
        self.is_incomplete = False
        self._said: set[int] = set()
        self._has_asked = False
        self._outputs: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._tasks: OrderedDict[tuple[Side, str], Status] = OrderedDict()

    def request(self, method: str, params: Mapping[str, Any]) -> Iterator[Broken]:
        """Judge the params of a request by what its receiver said before."""
        for name, what in (("cursor", "no page had this cursor"), ("requestState", "no result had this state")):
            value: Any = params.get(name)
            if isinstance(value, str) and not self._was_said(method, name, value):
                yield Broken(f"/params/{name}", what)
        if params.get("inputResponses") and not (self._has_asked or self.is_incomplete):
            yield Broken("/params/inputResponses", "nothing was asked before")

    def result(
        self, sender: Side, method: str, subject: str | None, result: Mapping[str, Any], *, has_outputs: bool
    ) -> Iterator[Broken]:
        """Judge a result by what was said before, and remember what it says.

        Args:
            sender: who sent it.
            method: the method of its request.
            subject: what the request names, such as a tool.
            result: the result.
            has_outputs: whether tools of the revision may have output schemas.
        """
        for said, name in (("nextCursor", "cursor"), ("requestState", "requestState")):
            value: Any = result.get(said)
            if isinstance(value, str):
                self._say(method, name, value)
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
        """Judge a notification by what was said before, and remember what it says."""
        if method == NOTIFICATIONS_TASKS_STATUS:
            yield from self._task(sender, params, "/params")
        elif method == list_changed("tools"):
            self._outputs.clear()

    def _was_said(self, method: str, name: str, value: str) -> bool:
        return self.is_incomplete or hash((method, name, value)) in self._said

    def _say(self, method: str, name: str, value: str) -> None:
        if len(self._said) < MAX_KNOWN:
            self._said.add(hash((method, name, value)))
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
        """Judge structured content by the schema of its tool (server/tools, "Output Schema")."""
        from mcp_runtime.protocol.json_schema import Check, UnusableSchema  # Few servers have such schemas.

        if "task" in result or result.get("isError") is True:
            return
        if "structuredContent" not in result:
            yield Broken("/result", "the tool has an output schema, but there is no structuredContent")
            return
        try:
            mismatch = Check(schema, is_trusted=False).find(result["structuredContent"])
        except (UnusableSchema, ModuleNotFoundError):
            return
        if mismatch is not None:
            yield Broken(f"/result/structuredContent{mismatch.pointer}", mismatch.reason)

    def _task(self, sender: Side, task: Any, place: str, *, begins: bool = False) -> Iterator[Broken]:
        """Judge where a task stands by where it stood (2025-11-25, basic/utilities/tasks)."""
        id_: Any = task.get("taskId") if is_object(task) else None
        if not isinstance(id_, str) or len(id_) > MAX_SCHEMA or task.get("status") not in set(Status):
            return
        status = Status(task["status"])
        before = self._tasks.get((sender, id_))
        if begins and status is not Status.WORKING:
            yield Broken(f"{place}/status", "a task begins as working")
        elif before is not None and status is not before and status not in TRANSITIONS[before]:
            yield Broken(f"{place}/status", f"a task that is {before} does not become {status}")
        _put(self._tasks, (sender, id_), status)


def _put(held: "OrderedDict[Any, Any]", key: Any, value: Any) -> None:
    held[key] = value
    if len(held) > MAX_KNOWN:
        held.popitem(last=False)
