"""Ports for servers that other processes open later."""

import secrets
import socket

RANGE = range(15_000, 32_000)
"""Below the ports that systems give to clients, and to servers that ask for any: nothing takes them in the meantime."""
_given: set[int] = set()


def free_port() -> int:
    """Return a port on which nothing listens, each time another one."""
    while True:
        port = secrets.choice(RANGE)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        if port not in _given:
            _given.add(port)
            return port
