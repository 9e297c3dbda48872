"""Notify clients that a resource or a list changed."""

from mcp_runtime.features.subscriptions import is_subscribed, list_changed, resource_updated

__all__ = ["is_subscribed", "list_changed", "resource_updated"]
