"""Middleware that is shipped: a rate limit, validation of arguments and results, spans for OpenTelemetry."""
