"""The methods that the runtime itself sends, answers or inspects, by the names of their records in generated tables.

Besides, there is what schemas do not name: properties of `_meta`, and error codes of the modern era.

The names of methods are keys for looking up records in the table of a binding. Generated packages cannot be imported
here, so the keys are repeated, and only in this file. A test compares each with the record of the same name in the
generated tables of every revision, and finds keys that no code uses.
"""

from typing import Final

COMPLETION_COMPLETE: Final = "completion/complete"
ELICITATION_CREATE: Final = "elicitation/create"
INITIALIZE: Final = "initialize"
LOGGING_SET_LEVEL: Final = "logging/setLevel"
PING: Final = "ping"
PROMPTS_GET: Final = "prompts/get"
RESOURCES_READ: Final = "resources/read"
RESOURCES_SUBSCRIBE: Final = "resources/subscribe"
RESOURCES_TEMPLATES_LIST: Final = "resources/templates/list"
RESOURCES_UNSUBSCRIBE: Final = "resources/unsubscribe"
ROOTS_LIST: Final = "roots/list"
SAMPLING_CREATE_MESSAGE: Final = "sampling/createMessage"
SERVER_DISCOVER: Final = "server/discover"
SUBSCRIPTIONS_LISTEN: Final = "subscriptions/listen"
TASKS_CANCEL: Final = "tasks/cancel"
TASKS_GET: Final = "tasks/get"
TASKS_LIST: Final = "tasks/list"
TASKS_RESULT: Final = "tasks/result"
TOOLS_CALL: Final = "tools/call"
TOOLS_LIST: Final = "tools/list"

NOTIFICATIONS_CANCELLED: Final = "notifications/cancelled"
NOTIFICATIONS_ELICITATION_COMPLETE: Final = "notifications/elicitation/complete"
NOTIFICATIONS_INITIALIZED: Final = "notifications/initialized"
NOTIFICATIONS_MESSAGE: Final = "notifications/message"
NOTIFICATIONS_PROGRESS: Final = "notifications/progress"
NOTIFICATIONS_RESOURCES_UPDATED: Final = "notifications/resources/updated"
NOTIFICATIONS_ROOTS_LIST_CHANGED: Final = "notifications/roots/list_changed"
NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
NOTIFICATIONS_TASKS_STATUS: Final = "notifications/tasks/status"

AREAS: Final = ("prompts", "resources", "tools")
"""What a server lists."""


def listing(area: str) -> str:
    """Return the request that lists what a server has in an area."""
    return f"{area}/list"


def list_changed(area: str) -> str:
    """Return the notification that the list of an area has changed."""
    return f"notifications/{area}/list_changed"


UNRELATED: Final = frozenset(
    (
        NOTIFICATIONS_ELICITATION_COMPLETE,
        NOTIFICATIONS_RESOURCES_UPDATED,
        NOTIFICATIONS_ROOTS_LIST_CHANGED,
        NOTIFICATIONS_TASKS_STATUS,
        *map(list_changed, AREAS),
    )
)
"""Notifications that concern the whole conversation, even if a request being handled caused them."""

WAITING: Final = frozenset((SUBSCRIPTIONS_LISTEN, TASKS_RESULT))
"""Requests that stay open while something else runs, and cost next to nothing."""

# In the modern era (2026-07-28, basic/index), `_meta` of each request says who sends it. These are its properties.
PREFIX: Final = "io.modelcontextprotocol/"
VERSION: Final = f"{PREFIX}protocolVersion"
CLIENT_INFO: Final = f"{PREFIX}clientInfo"
CLIENT_CAPABILITIES: Final = f"{PREFIX}clientCapabilities"
SERVER_INFO: Final = f"{PREFIX}serverInfo"
LOG_LEVEL: Final = f"{PREFIX}logLevel"
SUBSCRIPTION_ID: Final = f"{PREFIX}subscriptionId"
HEADER_MISMATCH: Final = -32020
"""The error code of a request whose HTTP headers do not say what its body says."""
MISSING_CAPABILITY: Final = -32021
"""The error code for a request that needs a capability which its sender did not declare."""
UNSUPPORTED_VERSION: Final = -32022
"""The error code for a request in a revision that the server does not support."""
