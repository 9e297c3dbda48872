"""Tests of lookups in an object: it may have many properties."""

import time

from mcp_bindgen.ir.leaves import is_json_schema
from mcp_bindgen.ir.nodes import Field, Kind, Primitive, Struct, protocol_of
from mcp_bindgen.ir.spell import opaque_facts


def cost(size: int) -> float:
    """Return the least CPU time that three lookups of every property of an object of this size take."""
    names = [f"property{number}" for number in range(size)]
    fields = tuple(Field(wire_name=name, type=Primitive(kind=Kind.STRING), required=False) for name in names)
    struct = Struct(name="Wide", fields=fields, own=frozenset(names))
    protocol = protocol_of({"Wide": struct})
    costs: list[float] = []
    for _ in range(3):
        start = time.process_time()
        assert not any(is_json_schema(name, struct) for name in names)
        assert all(struct.field(name) for name in names)
        assert not any(opaque_facts(protocol))
        costs.append(time.process_time() - start)
    return min(costs)


def test_ten_times_the_properties_cost_about_ten_times_as_much() -> None:
    assert cost(10_000) < 30 * cost(1_000)
