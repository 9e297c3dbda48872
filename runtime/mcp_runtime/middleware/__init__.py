"""Middleware included with the runtime: rate limits, validation, caching, tracing and OpenTelemetry spans."""
