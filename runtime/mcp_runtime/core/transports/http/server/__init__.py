"""The server's end of both HTTP transports: what comes in as an HTTP request, and what is sent back on its stream."""
