"""Messages for the laws of bridging: valid and mutated ones, and some with properties unknown to their revision."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from random import Random
from typing import Any

from differential.instances import Instances
from differential.subjects import SEED, Subject, subject
from differential.values import MAX_DEPTH, PROBES, Json, any_value, at, depth_of, is_map, places
from mcp_bindgen.bridge.derive import Bridge, derive
from mcp_bindgen.bridge.emit import derive_all, table_page
from mcp_bindgen.bridge.rows import Rows
from mcp_bindgen.emit.python.render import Templates
from mcp_bindgen.ir.nodes import Ref
from mcp_bindings.bridges import ERAS
from mcp_bindings.bridges import REVISIONS as BRIDGED
from mcp_runtime.bridge import Bridging, revisions
from mcp_runtime.bridge.revisions import Conversions
from mcp_runtime.bridge.table import Table
from support.once import unformatted
from support.samples import TRANSCRIBED

REVISIONS = tuple(revision for revision in BRIDGED if revision in TRANSCRIBED)
"""The revisions that the laws are tried on: a later one may differ from its neighbour in nothing at all."""
LEGACY = tuple(revision for revision, era in ERAS.items() if era == "legacy")
PAIRS = tuple(permutations(REVISIONS, 2))
UP = tuple((old, new) for old, new in PAIRS if old < new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of one method's messages, and the definitions that it may have in each of two revisions."""

    method: str
    part: str
    source: tuple[str, ...]
    target: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.method} {self.part}"


def parts(source: str, target: str) -> Iterator[Part]:
    """Iterate over the parts of the methods that two revisions share."""
    here, there = ({m.name: m for m in subject(r).protocol.methods} for r in (source, target))
    for name in here.keys() & there.keys():
        before, after = here[name], there[name]
        if before.params and after.params:
            yield Part(method=name, part="params", source=(before.params,), target=(after.params,))
        if before.result and after.result:
            results = [(m.result or "", *m.alternatives) for m in (before, after)]
            yield Part(method=name, part="result", source=results[0], target=results[1])


def accepts(tried: Subject, definitions: tuple[str, ...], value: Json) -> bool:
    """Whether the schema of a revision accepts a value as one of some definitions."""
    return any(tried.judge.accepts(name, value) for name in definitions)


def valid_messages(source: str, part: Part, count: int) -> tuple[Json, ...]:
    """Return values that are valid in their revision, many with properties of other revisions; they are shared."""
    return _valid_messages(source, str(part), part.source, count)


@cache
def _valid_messages(source: str, part: str, definitions: tuple[str, ...], count: int) -> tuple[Json, ...]:
    tried = subject(source)
    rng = Random(f"{SEED} {source} {part}")
    maker = Instances(tried.protocol, rng)
    found: list[Json] = []
    for index in range(count):
        value = maker.valid(Ref(name=definitions[index % len(definitions)]), fuel=rng.choice((2, 4, 6)))
        if index % 3 == 1:
            value = maker.mutated(value)
        if index % 2:
            value = _with_strangers(value, rng)
        if is_map(value) and depth_of(value) < MAX_DEPTH and accepts(tried, definitions, value):
            found.append(value)
    return tuple(found)


def _with_strangers(value: Json, rng: Random) -> Json:
    """Add properties that some revision declares, with valid or invalid values."""
    value = copy.deepcopy(value)
    for path in places(value):
        found = at(value, path)
        if is_map(found) and rng.random() < 0.4:
            name, fitting = rng.choice(declared_somewhere())
            stranger = copy.deepcopy(rng.choice((fitting, rng.choice(PROBES), any_value(rng, 4))))
            if name not in found:
                found[name] = stranger
    return value


@cache
def declared_somewhere() -> tuple[tuple[str, Json], ...]:
    """Return the properties that a revision adds, each with a valid value."""
    newest = subject(REVISIONS[-1])
    maker = Instances(newest.protocol, Random(SEED))
    added = {name for bridge in bridges() for node in runtime_table(bridge).nodes.values() for name in node.added}
    choices = [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]
    found: list[tuple[str, Json]] = [("oneOf", choices), ("enum", ["a"]), ("content", []), ("task", {})]
    for struct in newest.protocol.structs():
        found += [(f.wire_name, maker.valid(f.type, fuel=2)) for f in struct.fields if f.wire_name in added]
    return tuple(found)


@cache
def bridges() -> tuple[Bridge, ...]:
    """Return freshly derived conversions between neighbours."""
    return derive_all([subject(revision).protocol for revision in REVISIONS])


@cache
def direct(old: str, new: str) -> Bridge:
    """Return the conversions between two revisions that may be further apart."""
    return derive(subject(old).protocol, subject(new).protocol, Rows())


@cache
def direct_table(old: str, new: str) -> Table:
    """Return the conversions between two revisions that may be further apart, as the runtime reads them."""
    return runtime_table(direct(old, new))


def runtime_table(bridge: Bridge) -> Table:
    """Return conversions as the runtime reads them: the module that is emitted for them, executed."""
    page = table_page(bridge)
    names: dict[str, Any] = {}
    with unformatted():
        exec(Templates().render([page], ())[page.path], names)
    table: Table = names["TABLE"]
    return table


def conversions(source: str, target: str, bridging: Bridging | None = None) -> Conversions:
    """Return the runtime's conversions, from the committed tables."""
    return revisions.conversions("mcp_bindings", source, target, (bridging or Bridging()).policy)
