"""Authorization over HTTP with OAuth 2.1 (specification: basic/authorization)."""

from mcp_runtime.auth.client.machine import ClientCredentials, JwtBearer
from mcp_runtime.auth.client.oauth import OAuth
from mcp_runtime.auth.client.store import FileStore, MemoryStore, Store
from mcp_runtime.auth.client.tokens import Registered

__all__ = ["ClientCredentials", "FileStore", "JwtBearer", "MemoryStore", "OAuth", "Registered", "Store"]
