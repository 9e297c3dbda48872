"""Tasks (2025-11-25, basic/utilities/tasks): requests that are answered at once, and whose results are fetched later.

A side that is given a store (``ServerOptions(tasks=MemoryTaskStore())``, likewise for a client) runs what its peer
sends as a task; `run_as_task` and `start_task` are for the peer.

Tasks belong to the connection over which they were made and end with it; nobody else sees them, whatever id is guessed.
Where it is known who is behind a connection, `OWNER` among the connection's features, set before the handshake, lets
the same peer find its tasks over another one; a handler still ends with the connection that it was called over.
"""

from mcp_runtime.tasks.caller import TaskFailed, TaskHandle, run_as_task, start_task
from mcp_runtime.tasks.receiver import OWNER, install_tasks
from mcp_runtime.tasks.related import RELATED, install_related, related_task
from mcp_runtime.tasks.states import TRANSITIONS, Failure, Outcome, Status, Success, TaskRecord
from mcp_runtime.tasks.store import (
    InvalidTransition,
    MemoryTaskStore,
    TaskError,
    TaskStore,
    TooManyTasks,
    UnknownCursor,
    UnknownTask,
)

__all__ = [
    "OWNER",
    "RELATED",
    "TRANSITIONS",
    "Failure",
    "InvalidTransition",
    "MemoryTaskStore",
    "Outcome",
    "Status",
    "Success",
    "TaskError",
    "TaskFailed",
    "TaskHandle",
    "TaskRecord",
    "TaskStore",
    "TooManyTasks",
    "UnknownCursor",
    "UnknownTask",
    "install_related",
    "install_tasks",
    "related_task",
    "run_as_task",
    "start_task",
]
