"""Makes instances of a protocol's definitions: valid ones, and mutations that may be valid or invalid."""

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from differential.values import (
    FRACTIONS,
    INTEGERS,
    MAX_DEPTH,
    MEMBER_NAMES,
    PROBES,
    STRINGS,
    WHOLE_FLOATS,
    Json,
    any_value,
    at,
    deep,
    depth_of,
    is_list,
    is_map,
    places,
)
from functional.minimal import near
from mcp_bindgen.emit.python.names import attribute_names
from mcp_bindgen.ir.nodes import (
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Protocol,
    Ref,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.ir.scalars import fits
from mcp_bindgen.values.builder import matching


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A value to validate against a definition; `valid` if it was generated as a valid instance."""

    definition: str
    value: Json
    valid: bool


@dataclass(frozen=True, slots=True)
class Instances:
    """Makes the cases of one protocol; the same seed gives the same cases."""

    protocol: Protocol
    rng: random.Random

    def random(self, count: int, *definitions: str) -> Iterator[Case]:
        """Make this many cases of some definitions (by default all) in turn, half of them mutated."""
        names = definitions or tuple(self.protocol.definitions)
        for index in range(count):
            name = names[index // 2 % len(names)]
            value = self.valid(Ref(name=name))
            if index % 2:
                yield Case(definition=name, value=self.mutated(value), valid=False)
            else:
                yield Case(definition=name, value=value, valid=True)

    def systematic(self) -> Iterator[Case]:
        """Make the cases for every definition: smallest, largest, and with each property and item changed alone."""
        for name, definition in self.protocol.definitions.items():
            type_ = Ref(name=name)
            smallest, largest = self.valid(type_, fuel=0), self.valid(type_, fuel=3, all_members=True)
            yield Case(definition=name, value=smallest, valid=True)
            yield Case(definition=name, value=largest, valid=True)
            for probe in PROBES:
                yield Case(definition=name, value=probe, valid=False)
            if not isinstance(definition, Struct):
                continue
            for field in definition.fields:
                rest = {member: value for member, value in largest.items() if member != field.wire_name}
                yield Case(definition=name, value=rest, valid=not field.required)
                yield Case(
                    definition=name, value=smallest | {field.wire_name: self.valid(field.type, level=1)}, valid=True
                )
                for probe in PROBES:
                    yield Case(definition=name, value=smallest | {field.wire_name: probe}, valid=False)
            for attribute in attribute_names(field.wire_name for field in definition.fields).values():
                if definition.extra is not None and definition.field(attribute) is None:
                    yield Case(definition=name, value=largest | {attribute: self.rng.choice(PROBES)}, valid=True)

    def valid(self, type_: TypeRef, *, level: int = 0, fuel: int = 4, all_members: bool = False) -> Json:
        """Make a valid instance that is nested in `level` containers; without `fuel` the smallest one."""
        match type_:
            case Primitive():
                return self._scalar(type_, level, fuel)
            case Literal(values=values):
                value = self.rng.choice(values)
                if isinstance(value, int) and not isinstance(value, bool) and self.rng.random() < 0.3:
                    return float(value)
                return value
            case Ref(name=name):
                target = self.protocol.definitions[name]
                if isinstance(target, Struct):
                    return self._object(target, level, fuel, all_members)
                return self.valid(target.type, level=level, fuel=fuel, all_members=all_members)
            case ListOf(item=item, bounds=bounds):
                size = self._size(bounds.min_items, bounds.max_items, fuel)
                items = [self.valid(item, level=level + 1, fuel=fuel - 1) for _ in range(size)]
                return items[: bounds.min_items] if bounds.unique_items and _repeat(items) else items
            case MapOf(value=value, bounds=bounds):
                size = self._size(bounds.min_properties, bounds.max_properties, fuel)
                names = self.rng.sample(MEMBER_NAMES, size)
                return {name: self.valid(value, level=level + 1, fuel=fuel - 1) for name in names}
            case Union(members=members):
                leaves = [m for m in members if isinstance(m, Primitive | Literal)]
                chosen = self.rng.choice(leaves if fuel <= 0 and leaves else members)
                return self.valid(chosen, level=level, fuel=fuel, all_members=all_members)

    def mutated(self, value: Json) -> Json:
        """Change a value at one to three random places."""
        holder: dict[str, Json] = {"": copy.deepcopy(value)}
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            self._mutate(holder)
        return holder[""] if depth_of(holder) <= MAX_DEPTH + 1 else value

    def _scalar(self, type_: Primitive, level: int, fuel: int) -> Json:
        match type_.kind:
            case Kind.STRING:
                choices: tuple[Json, ...] = (*STRINGS, *type_.known)
            case Kind.INTEGER:
                choices = (*INTEGERS, *WHOLE_FLOATS)
            case Kind.NUMBER:
                choices = (*INTEGERS, *WHOLE_FLOATS, *FRACTIONS)
            case Kind.BOOLEAN:
                choices = (True, False)
            case Kind.NULL:
                choices = (None,)
            case Kind.NEVER:
                raise AssertionError("no value has this type")
            case Kind.ANY:
                return any_value(self.rng, level) if fuel > 0 else self.rng.choice((None, 0, ""))
        more: tuple[Json, ...] = near(type_.bounds) if type_.kind in (Kind.INTEGER, Kind.NUMBER) else ()
        more = (matching(type_.bounds.pattern),) if type_.bounds.pattern is not None else more
        # What no made-up value fits is left to the verdict of the oracle.
        return self.rng.choice([value for value in (*choices, *more) if fits(value, type_)] or choices)

    def _object(self, struct: Struct, level: int, fuel: int, all_members: bool) -> Json:
        share = 1.0 if all_members else 0.0 if fuel <= 0 else self.rng.choice((0.0, 0.5, 0.5, 0.8, 1.0))
        properties: dict[str, Json] = {}
        for field in struct.fields:
            can_be_there = not (isinstance(field.type, Primitive) and field.type.kind is Kind.NEVER)
            if field.required or (self.rng.random() < share and can_be_there):
                properties[field.wire_name] = self.valid(
                    field.type, level=level + 1, fuel=fuel - 1, all_members=all_members and fuel > 1
                )
        if struct.extra is not None and fuel > 0 and self.rng.random() < 0.5:
            attributes = attribute_names(field.wire_name for field in struct.fields)
            for name in self.rng.sample((*attributes.values(), *MEMBER_NAMES), self.rng.randrange(1, 4)):
                if struct.field(name) is None:
                    properties[name] = self.valid(struct.extra, level=level + 1, fuel=fuel - 1)
        return (
            properties if self.rng.random() < 0.5 else dict(self.rng.sample(list(properties.items()), len(properties)))
        )

    def _size(self, least: int | None, most: int | None, fuel: int) -> int:
        least, most = least or 0, 4 if most is None else most
        if fuel <= 0:
            return least
        return self.rng.choice((least, min(most, least + 1), min(most, least + 3), most if fuel > 2 else least))

    def _mutate(self, holder: dict[str, Json]) -> None:
        """Change one place of the value inside the holder."""
        paths = places(holder)[1:]
        path = self.rng.choice(paths)
        parent, key = at(holder, path[:-1]), path[-1]
        old = parent[key]
        replacements: tuple[Callable[[], Json], ...] = (
            lambda: copy.deepcopy(self.rng.choice(PROBES)),
            lambda: copy.deepcopy(at(holder, self.rng.choice(paths))),
            lambda: self.valid(Ref(name=self.rng.choice(list(self.protocol.definitions))), fuel=1),
            lambda: any_value(self.rng, len(path) - 1),
            lambda: deep(self.rng, MAX_DEPTH + 1 - len(path)),
            lambda: [old],
            lambda: old[0] if is_list(old) and old else {"": old},
            lambda: _neighbour(old, self.rng),
            lambda: _neighbour(old, self.rng),
        )
        structural = self.rng.random() < 0.4
        if structural and is_map(parent) and parent is not holder:
            _change_members(parent, str(key), self.rng)
        elif structural and is_list(parent):
            _change_items(parent, int(key), self.rng)
        elif structural and is_map(old):
            old[self.rng.choice(MEMBER_NAMES)] = copy.deepcopy(self.rng.choice(PROBES))
        elif structural and is_list(old):
            old.append(copy.deepcopy(self.rng.choice(PROBES)))
        else:
            at(holder, path[:-1])[key] = self.rng.choice(replacements)()


def _neighbour(value: Json, rng: random.Random) -> Json:
    """Return a value that is nearly the same: another constant, or the same constant of another type."""
    if isinstance(value, str):
        return rng.choice((value + "x", value[1:], value.upper(), f" {value}", value + "\x00", [value], value * 2))
    if isinstance(value, bool):
        return rng.choice((not value, int(value), float(value), str(value).lower()))
    if isinstance(value, int):
        steps: tuple[Json, ...] = (value + 1, value - 1, -value, value + 0.5, str(value), bool(value))
        return rng.choice((*steps, float(value)))
    if isinstance(value, float):
        return rng.choice((-value, value / 3, str(value), bool(value), int(value)))
    return rng.choice(("", 0, False, None, "null"))


def _change_members(parent: dict[str, Json], key: str, rng: random.Random) -> None:
    names = (*MEMBER_NAMES, key + "_", key.upper(), key.lower(), attribute_names([key])[key])
    match rng.randrange(4):
        case 0:
            del parent[key]
        case 1:
            parent[rng.choice(names)] = parent.pop(key)
        case 2:
            parent[rng.choice(names)] = copy.deepcopy(parent[key])
        case _:
            parent[key], parent[rng.choice(list(parent))] = parent[rng.choice(list(parent))], parent[key]


def _change_items(parent: list[Json], key: int, rng: random.Random) -> None:
    match rng.randrange(3):
        case 0:
            del parent[key]
        case 1:
            parent.insert(key, copy.deepcopy(parent[key]))
        case _:
            parent.extend(copy.deepcopy(parent[key]) for _ in range(rng.choice((1, 99, 101))))


def _repeat(items: list[Json]) -> bool:
    return any(one == other for number, one in enumerate(items) for other in items[:number])
