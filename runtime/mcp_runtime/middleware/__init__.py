"""Middleware included with the runtime: rate limits, validation, caching, tracing and OpenTelemetry spans."""

from typing import TYPE_CHECKING

from mcp_runtime.lazy import door

if TYPE_CHECKING:
    from mcp_runtime.middleware.cache import ResultCache
    from mcp_runtime.middleware.log_handler import McpLogHandler
    from mcp_runtime.middleware.masking import Masker
    from mcp_runtime.middleware.opentelemetry import Telemetry
    from mcp_runtime.middleware.rate_limit import RATE_LIMITED, RateLimit, RateLimited
    from mcp_runtime.middleware.trace import Kind, Traced, Tracer
    from mcp_runtime.middleware.validate import Validate
else:
    __getattr__, __dir__ = door(
        "mcp_runtime.middleware",
        {
            "cache": "ResultCache",
            "log_handler": "McpLogHandler",
            "masking": "Masker",
            "opentelemetry": "Telemetry",
            "rate_limit": "RATE_LIMITED RateLimit RateLimited",
            "trace": "Kind Traced Tracer",
            "validate": "Validate",
        },
    )

__all__ = [
    "RATE_LIMITED",
    "Kind",
    "Masker",
    "McpLogHandler",
    "RateLimit",
    "RateLimited",
    "ResultCache",
    "Telemetry",
    "Traced",
    "Tracer",
    "Validate",
]
