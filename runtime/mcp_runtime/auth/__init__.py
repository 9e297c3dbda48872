"""Authorization over HTTP with OAuth 2.1 (specification: basic/authorization)."""
