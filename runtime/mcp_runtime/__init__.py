"""The runtime of generated bindings, and the names that programs need of it, each imported on first use.

Generated bindings pass these names on, so that programs import from one package, `mcp_bindings`.
It imports no generated module.
"""

from typing import TYPE_CHECKING

from mcp_runtime.lazy import door

if TYPE_CHECKING:
    from mcp_runtime import testing
    from mcp_runtime.app import DefinitionError, Depends, NotFound, Raw, ToolFailure, safe_join
    from mcp_runtime.app.elicitation import Accepted, Cancelled, Declined, Refusal
    from mcp_runtime.app.media import AssistantMessage, Audio, Image, UserMessage
    from mcp_runtime.auth import Bearer, ClientCredentials, FileStore, OAuth, Principal
    from mcp_runtime.bridge import Bridging, LossAction, MissingInRevision, NotExpressible
    from mcp_runtime.client_features.forms import ask_form
    from mcp_runtime.client_features.roots import Roots
    from mcp_runtime.cluster.fan_out import FanOut
    from mcp_runtime.cluster.redis import RedisFanOut, RedisSpentStates
    from mcp_runtime.core.changes.subscriptions import is_subscribed, list_changed, resource_updated
    from mcp_runtime.core.connection import Connection, Exchange
    from mcp_runtime.core.connection.calls import Proceed
    from mcp_runtime.core.connection.connection import Middleware
    from mcp_runtime.core.errors import (
        AuthorizationError,
        BindingFormatError,
        ConnectionClosed,
        LifespanError,
        LocalProtocolError,
        McpError,
        MethodNotImplemented,
        MissingCapability,
        PeerError,
        ProtocolViolation,
        RemoteProtocolError,
        RequestTimeout,
        UnsupportedRevision,
        Unusable,
    )
    from mcp_runtime.core.handlers import connections_of
    from mcp_runtime.core.handshake.client import Peer
    from mcp_runtime.core.method import AnyMethod, Direction, NotificationMethod, RequestMethod
    from mcp_runtime.core.model import ABSENT, REQUIRED, Absent
    from mcp_runtime.core.options import CacheHint, Limits
    from mcp_runtime.core.settings import ClientOptions, ServerOptions, Suspended
    from mcp_runtime.core.stub import CallOptions
    from mcp_runtime.core.transports.http import (
        HttpLimits,
        HttpServerOptions,
        asgi_app,
        connect_http,
        connect_sse,
    )
    from mcp_runtime.core.transports.stdio import connect_stdio, serve_stdio
    from mcp_runtime.decorators import requires, requires_scopes
    from mcp_runtime.extensions.binding import ExtensionBinding
    from mcp_runtime.extensions.extension import Extension
    from mcp_runtime.extensions.vendor import send_request, vendor_notification, vendor_request
    from mcp_runtime.host import Host
    from mcp_runtime.memory import connect_memory
    from mcp_runtime.middleware.log_handler import McpLogHandler
    from mcp_runtime.middleware.rate_limit import RateLimit
    from mcp_runtime.middleware.trace import Tracer
    from mcp_runtime.middleware.validate import Validate
    from mcp_runtime.opening import open_any
    from mcp_runtime.sealed import InputState, SpentStates
    from mcp_runtime.tools import ToolArgumentError, ToolDrift, ToolError, ToolOutputError, ToolRefused, UnknownTool
    from mcp_runtime.web_server import serve_http, sse_app
else:
    __getattr__, __dir__ = door(
        "mcp_runtime",
        {
            "app": "DefinitionError Depends NotFound Raw ToolFailure safe_join",
            "app.media": "AssistantMessage Audio Image UserMessage",
            "app.elicitation": "Accepted Cancelled Declined Refusal",
            "auth": "Bearer ClientCredentials FileStore OAuth Principal",
            "bridge": "Bridging LossAction MissingInRevision NotExpressible",
            "client_features.forms": "ask_form",
            "client_features.roots": "Roots",
            "cluster.fan_out": "FanOut",
            "cluster.redis": "RedisFanOut RedisSpentStates",
            "core.connection.calls": "Proceed",
            "core.connection.connection": "Connection Exchange Middleware",
            "core.errors": """
                AuthorizationError BindingFormatError ConnectionClosed LifespanError
                LocalProtocolError McpError MethodNotImplemented MissingCapability PeerError
                ProtocolViolation RemoteProtocolError RequestTimeout UnsupportedRevision Unusable
            """,
            "core.changes.subscriptions": "is_subscribed list_changed resource_updated",
            "core.handlers": "connections_of",
            "core.method": "AnyMethod Direction NotificationMethod RequestMethod",
            "core.model": "ABSENT REQUIRED Absent",
            "core.options": "CacheHint Limits",
            "core.handshake.client": "Peer",
            "core.settings": "ClientOptions ServerOptions Suspended",
            "core.stub": "CallOptions",
            "core.transports.http": "HttpLimits HttpServerOptions asgi_app connect_http connect_sse",
            "core.transports.stdio": "connect_stdio serve_stdio",
            "decorators": "requires requires_scopes",
            "extensions.binding": "ExtensionBinding",
            "extensions.extension": "Extension",
            "extensions.vendor": "send_request vendor_notification vendor_request",
            "host": "Host",
            "memory": "connect_memory",
            "middleware.log_handler": "McpLogHandler",
            "middleware.rate_limit": "RateLimit",
            "middleware.trace": "Tracer",
            "middleware.validate": "Validate",
            "opening": "open_any",
            "sealed": "InputState SpentStates",
            "tools": "ToolArgumentError ToolDrift ToolError ToolOutputError ToolRefused UnknownTool",
            "web_server": "serve_http sse_app",
        },
    )

__all__ = [
    "ABSENT",
    "REQUIRED",
    "Absent",
    "Accepted",
    "AnyMethod",
    "AssistantMessage",
    "Audio",
    "AuthorizationError",
    "Bearer",
    "BindingFormatError",
    "Bridging",
    "CacheHint",
    "CallOptions",
    "Cancelled",
    "ClientCredentials",
    "ClientOptions",
    "Connection",
    "ConnectionClosed",
    "Declined",
    "DefinitionError",
    "Depends",
    "Direction",
    "Exchange",
    "Extension",
    "ExtensionBinding",
    "FanOut",
    "FileStore",
    "Host",
    "HttpLimits",
    "HttpServerOptions",
    "Image",
    "InputState",
    "LifespanError",
    "Limits",
    "LocalProtocolError",
    "LossAction",
    "McpError",
    "McpLogHandler",
    "MethodNotImplemented",
    "Middleware",
    "MissingCapability",
    "MissingInRevision",
    "NotExpressible",
    "NotFound",
    "NotificationMethod",
    "OAuth",
    "Peer",
    "PeerError",
    "Principal",
    "Proceed",
    "ProtocolViolation",
    "RateLimit",
    "Raw",
    "RedisFanOut",
    "RedisSpentStates",
    "Refusal",
    "RemoteProtocolError",
    "RequestMethod",
    "RequestTimeout",
    "Roots",
    "ServerOptions",
    "SpentStates",
    "Suspended",
    "ToolArgumentError",
    "ToolDrift",
    "ToolError",
    "ToolFailure",
    "ToolOutputError",
    "ToolRefused",
    "Tracer",
    "UnknownTool",
    "UnsupportedRevision",
    "Unusable",
    "UserMessage",
    "Validate",
    "asgi_app",
    "ask_form",
    "connect_http",
    "connect_memory",
    "connect_sse",
    "connect_stdio",
    "connections_of",
    "is_subscribed",
    "list_changed",
    "open_any",
    "requires",
    "requires_scopes",
    "resource_updated",
    "safe_join",
    "send_request",
    "serve_http",
    "serve_stdio",
    "sse_app",
    "testing",
    "vendor_notification",
    "vendor_request",
]
