"""An extension of a revision, as part of the representation."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_bindgen.ir.nodes import Method, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """An extension of a revision.

    Attributes:
        id: its identifier, such as ``com.acme/orders``.
        module: the name of its package by default.
        protocol: the revision with everything that the extension adds; its constants and sources are the extension's.
        own: the definitions that the extension adds, by name; the others are those of the revision.
        methods: the methods that it adds.
        results: the results that it adds to a request of the revision: definitions by their tag, by method.
        filters: the definition of what it adds to the filter in a message, by method.
        headers: the property of the params that is repeated in the header `Mcp-Name`, by method.
        settings: the definition of its settings; empty if it has none.
        link: the URL of its specification; empty if unknown.
    """

    id: str
    module: str
    protocol: Protocol
    own: frozenset[str]
    methods: tuple[Method, ...]
    results: Mapping[str, Mapping[str, str]]
    filters: Mapping[str, str]
    headers: Mapping[str, str]
    settings: str
    link: str
