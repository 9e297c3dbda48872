"""HTTP requests and their responses, whatever they carry: ASGI, access checks, timeouts, limits."""
