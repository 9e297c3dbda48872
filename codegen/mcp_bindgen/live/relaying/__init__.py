"""Relay messages between a client and a server over stdio, HTTP or one of each, and validate each one."""
