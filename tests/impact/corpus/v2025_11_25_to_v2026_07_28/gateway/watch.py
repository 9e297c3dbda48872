"""Watches tasks and resources of one server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp_bindings.v2025_11_25 import (
    URL_ELICITATION_REQUIRED,  # impact: error-code-removed
    Client,
    JSONRPCErrorResponse,
    ListTasksResult,  # impact: definition-removed
    ResourceUpdatedNotificationParams,
    Task,  # impact: definition-removed
    TaskStatus,  # impact: definition-removed
)
from mcp_bindings.v2025_11_25.methods import METHODS, RESOURCES_SUBSCRIBE, TOOLS_CALL  # impact: request-method-removed

UNSUBSCRIBE = METHODS["resources/unsubscribe"]  # impact: request-method-removed
CALL = METHODS["tools/call"]


@dataclass
class State:
    """What is known of one server."""

    client: Client
    tasks: dict[str, Task] = field(default_factory=dict[str, Task])  # impact: definition-removed
    latest: Task | None = None  # impact: definition-removed

    def running(self) -> list[str]:
        return [name for name, task in self.tasks.items() if task.status == "working"]

    def remember(self, page: ListTasksResult) -> None:  # impact: definition-removed
        for task in page.tasks:
            self.tasks[task.task_id] = self.latest = task


@asynccontextmanager
async def watching(client: Client, uri: str) -> AsyncGenerator[State]:
    state = State(client)
    await state.client.subscribe(uri=uri)  # impact: request-method-removed
    try:
        yield state
    finally:
        await state.client.unsubscribe(uri=uri)  # impact: request-method-removed


async def poll(client: Client) -> TaskStatus | None:  # impact: definition-removed
    async with watching(client, "file:///x") as state:
        state.remember(await state.client.list_tasks())  # impact: request-method-removed
        async for task in client.iter_tasks():  # impact: request-method-removed
            state.latest = task
        refresh = state.client.ping  # impact: request-method-removed
        await refresh()
        return state.latest.status if state.latest else None


def is_obsolete(method: str) -> bool:
    return method in (RESOURCES_SUBSCRIBE.name, "logging/setLevel", TOOLS_CALL.name)  # impact: request-method-removed


def explain(error: JSONRPCErrorResponse) -> str:
    if error.error.code == URL_ELICITATION_REQUIRED:  # impact: error-code-removed
        return "open the page first"
    return error.error.message


def updated(params: ResourceUpdatedNotificationParams) -> str:
    return params.uri
