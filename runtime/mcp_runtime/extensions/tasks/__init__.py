"""Tasks (2025-11-25, basic/utilities/tasks): requests that are answered at once and whose results are fetched later.

A side with the extension (``ServerOptions(extensions=[Tasks(MemoryTaskStore())])``, likewise for a client) runs
requests of its peer as tasks; `run_as_task` and `start_task` are for the peer.

Tasks belong to the connection over which they were created and end with it; nobody else sees them, even by guessing an
id. If the transport authenticates the peer (`Requester.principal`), or `OWNER` among the connection's features names an
owner before the handshake, its tasks outlive the connection, and the same peer finds them over another one.
"""

from typing import TYPE_CHECKING

from mcp_runtime.core.features import RELATED, related_task
from mcp_runtime.extensions.tasks.caller import TaskFailed, TaskHandle
from mcp_runtime.extensions.tasks.deferred import Deferred, defer
from mcp_runtime.extensions.tasks.extension import Tasks
from mcp_runtime.extensions.tasks.memory import MemoryTaskStore
from mcp_runtime.extensions.tasks.receiver import OWNER
from mcp_runtime.extensions.tasks.sqlite import SqliteTaskStore
from mcp_runtime.extensions.tasks.starting import resume_task, run_as_task, start_task
from mcp_runtime.extensions.tasks.states import TRANSITIONS, Failure, Outcome, Status, Success, TaskRecord
from mcp_runtime.extensions.tasks.store import (
    InvalidTransition,
    SharedTaskStore,
    TaskError,
    TaskStore,
    TooManyTasks,
    UnknownCursor,
    UnknownTask,
)
from mcp_runtime.lazy import door

if TYPE_CHECKING:
    from mcp_runtime.extensions.tasks.redis import RedisTaskStore
else:
    __getattr__, __dir__ = door("mcp_runtime.extensions.tasks", {"redis": "RedisTaskStore"})

__all__ = [
    "OWNER",
    "RELATED",
    "TRANSITIONS",
    "Deferred",
    "Failure",
    "InvalidTransition",
    "MemoryTaskStore",
    "Outcome",
    "RedisTaskStore",
    "SharedTaskStore",
    "SqliteTaskStore",
    "Status",
    "Success",
    "TaskError",
    "TaskFailed",
    "TaskHandle",
    "TaskRecord",
    "TaskStore",
    "Tasks",
    "TooManyTasks",
    "UnknownCursor",
    "UnknownTask",
    "defer",
    "related_task",
    "resume_task",
    "run_as_task",
    "start_task",
]
