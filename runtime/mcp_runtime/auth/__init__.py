"""Authorization over HTTP with OAuth 2.1 (specification: basic/authorization)."""

from mcp_runtime.auth.client.machine import ClientCredentials, JwtBearer
from mcp_runtime.auth.client.oauth import OAuth
from mcp_runtime.auth.client.store import FileStore, MemoryStore, Store
from mcp_runtime.auth.client.tokens import Registered
from mcp_runtime.auth.server.bearer import Bearer
from mcp_runtime.core.connection.requester import Principal
from mcp_runtime.core.errors import InvalidToken

__all__ = [
    "Bearer",
    "ClientCredentials",
    "FileStore",
    "InvalidToken",
    "JwtBearer",
    "MemoryStore",
    "OAuth",
    "Principal",
    "Registered",
    "Store",
]
