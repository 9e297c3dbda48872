"""Transports carry whole messages between peers."""
