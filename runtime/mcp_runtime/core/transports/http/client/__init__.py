"""The client's end of both HTTP transports."""
