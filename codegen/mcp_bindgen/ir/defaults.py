"""Defaults for absent required properties of results: the rows of schema/defaults.toml that apply."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mcp_bindgen.ir.nodes import Protocol, Scalar


def add_defaults(protocol: Protocol, rows: Mapping[str, Scalar]) -> Protocol:
    """Return the protocol with the defaults of its results.

    Args:
        protocol: one revision.
        rows: values by property (``resultType``), or by result and property (``InputRequiredResult.resultType``).
    """
    return replace(protocol, defaults=dict(_found(protocol, rows)))


def _found(protocol: Protocol, rows: Mapping[str, Scalar]) -> Iterator[tuple[str, Scalar]]:
    for struct in protocol.structs():
        for field in struct.fields:
            place = f"{struct.name}.{field.wire_name}"
            row = place if place in rows else field.wire_name
            if struct.name.endswith("Result") and field.required and not field.is_constant and row in rows:
                yield place, rows[row]
