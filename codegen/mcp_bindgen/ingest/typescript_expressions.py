"""Reads the type expressions of a schema.ts; one that cannot be read any further is kept as text."""

from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

from tree_sitter import Node

from mcp_bindgen.ingest.typescript_source import (
    SourceFile,
    not_read,
    read_identifier,
    read_literal,
    read_string,
    significant,
    spelled,
)
from mcp_bindgen.ingest.typescript_types import (
    Constant,
    Keyword,
    TsArray,
    TsIndexed,
    TsIntersection,
    TsKeyof,
    TsKeyword,
    TsLiteral,
    TsMapped,
    TsMember,
    TsObject,
    TsOpaque,
    TsReference,
    TsType,
    TsTypeof,
    TsUnion,
)
from mcp_bindgen.ir.nodes import Kind, Opaque

MAX_DEPTH = 40

_NAMES: tuple[Keyword, ...] = get_args(Keyword)
_KEYWORDS: Mapping[str, Keyword] = {**{name: name for name in _NAMES if name != "Date"}, "void": "undefined"}
_GLOBAL: Mapping[str, Keyword] = {
    "Date": "Date",
    "Object": "object",
    "String": "string",
    "Number": "number",
    "Boolean": "boolean",
}
"""Types that TypeScript declares itself and JSON has a form for."""
_GLOBAL_OPAQUE = frozenset("""
    bigint symbol Function Symbol BigInt Error RegExp Uint8Array ArrayBuffer Buffer Blob URL Map Set WeakMap WeakSet
    Promise Iterable AsyncIterable Iterator AsyncIterator Generator AsyncGenerator AbortSignal ReadableStream
    """.split())
"""Types that TypeScript or the platform declares and that JSON has no form for."""


class TypeReader:
    """Reads type expressions of one file, and remembers the names that they use.

    `constants` are those of the file, by name; `imported` the names of types that other files declare; `shared` those
    of the base revision, by the names that the file gives them.
    """

    def __init__(
        self, file: SourceFile, constants: Mapping[str, Constant], imported: set[str], shared: Mapping[str, str]
    ) -> None:
        self.file = file
        self.types_used: list[tuple[str, Node]] = []
        self.constants_used: list[tuple[str, Node]] = []
        self.parameters: frozenset[str] = frozenset()
        self._constants = constants
        self._imported = imported
        self._shared = shared

    def opaque(self, node: Node) -> Opaque:
        """Return the text of a node, and its place."""
        return Opaque(text=spelled(self.file, node), where=self.file.where(node))

    def read(self, node: Node, depth: int = 0) -> TsType:
        """Read a type expression."""
        return TsOpaque(opaque=self.opaque(node)) if depth > MAX_DEPTH else self._plain(node, depth)

    def _plain(self, node: Node, depth: int) -> TsType:
        match node.type:
            case "predefined_type" if (keyword := _KEYWORDS.get(self.file.text(node))) is not None:
                return TsKeyword(name=keyword)
            case "type_identifier":
                return self._reference(node)
            case "literal_type":
                return self._literal(node)
            case "parenthesized_type" | "readonly_type" | "array_type":
                return self._wrapped(node, depth)
            case "union_type":
                members = self._flat(node, depth)
                return members[0] if len(members) == 1 else TsUnion(members=members)
            case "intersection_type":
                members = self._flat(node, depth)
                return members[0] if len(members) == 1 else TsIntersection(members=members)
            case "object_type":
                return self._mapped(node, depth) or self.read_object(node, depth)
            case _:
                return self._computed(node, depth)

    def _computed(self, node: Node, depth: int) -> TsType:
        """Read a type that is made of others by more than listing them."""
        match node.type:
            case "generic_type":
                return self._generic(node, depth)
            case "type_query":
                return self._typeof(node)
            case "index_type_query":
                return self._keyof(node, depth)
            case "lookup_type":
                return self._indexed(node, depth)
            case "tuple_type":
                return self._tuple(node, depth)
            case "template_literal_type":
                return TsOpaque(opaque=self.opaque(node), kind=Kind.STRING)
            case _:
                return TsOpaque(opaque=self.opaque(node))

    def read_object(self, node: Node, depth: int = 0) -> TsObject:
        """Read the body of an interface or an inline object."""
        members: dict[str, TsMember] = {}
        index, index_span, opaque = None, None, None
        for child in significant(node):
            if child.type in ("property_signature", "method_signature"):
                member = self._member(child, depth)
                first = member if member is None else members.setdefault(member.name, member)
                # A method may be overloaded, and an accessor is there to read and to write.
                if member is not None and first is not member and child.type == "property_signature":
                    self.file.error(child, f"member '{member.name}' is declared twice")
            elif child.type == "index_signature" and index is None:
                index, opaque = self._index(child, depth)
                index_span = (child.start_byte, child.end_byte)
            else:
                not_read(self.file, child)
        return TsObject(members=tuple(members.values()), index=index, index_span=index_span, opaque=opaque)

    def _member(self, node: Node, depth: int) -> TsMember | None:
        name_node, annotation = node.child_by_field_name("name"), node.child_by_field_name("type")
        name = None if name_node is None else self._member_name(name_node)
        if name is None:
            return None
        written = None if annotation is None else self._only(annotation)
        if node.type == "property_signature" and written is None:
            self.file.error(node, f"member '{name[:40]}' has no type")
            return None
        doc = self.file.doc(node, plain_comments=True)
        whole = written or node
        return TsMember(
            name=name,
            optional=any(child.type == "?" for child in node.children),
            type=TsOpaque(opaque=self.opaque(node)) if written is None else self.read(written, depth + 1),
            tags=doc.tags,
            doc=doc.text,
            where=self.file.where(node),
            span=(whole.start_byte, whole.end_byte),
        )

    def _member_name(self, node: Node) -> str | None:
        match node.type:
            case "property_identifier":
                return read_identifier(self.file, node)
            case "string":
                return read_string(self.file, node)
            case "number":
                return self.file.text(node)
            case "computed_property_name":
                value = self._constants.get(self.file.text(node)[1:-1].strip())
                if isinstance(value, str):
                    return value
            case _:
                pass
        not_read(self.file, node, " as the name of a member")
        return None

    def _index(self, node: Node, depth: int) -> tuple[TsType | None, Opaque | None]:
        """Read `[key: string]: T`; the type of keys of another kind says nothing about all members."""
        key, annotation = node.child_by_field_name("index_type"), node.child_by_field_name("type")
        written = None if annotation is None else self._only(annotation)
        if key is None or written is None:
            return None, self.opaque(node)
        is_name = key.type == "type_identifier" or self.file.text(key) in ("string", "number")
        if not is_name:
            return None, self.opaque(node)
        if key.type == "type_identifier":
            self._reference(key)
        return self.read(written, depth + 1), self.opaque(node) if self.file.text(key) != "string" else None

    def _mapped(self, node: Node, depth: int) -> TsType | None:
        """Read `{ [K in Keys]: T }`, or return None if the object is none."""
        children = list(significant(node))
        clause = children[0].named_child(0) if len(children) == 1 and children[0].type == "index_signature" else None
        if clause is None or clause.type != "mapped_type_clause":
            return None
        annotation = children[0].child_by_field_name("type")
        name, keys = clause.child_by_field_name("name"), clause.child_by_field_name("type")
        written = None if annotation is None else self._only(annotation, ("?:", "-?:", "+?:"))
        if name is None or keys is None or written is None or clause.child_by_field_name("alias") is not None:
            return TsOpaque(opaque=self.opaque(node), kind=Kind.ANY)
        parameter = self.file.text(name)
        read_keys = self.read(keys, depth + 1)
        outer, self.parameters = self.parameters, self.parameters | {parameter}
        value = self.read(written, depth + 1)
        self.parameters = outer
        return TsMapped(
            parameter=parameter,
            keys=read_keys,
            value=value,
            optional=(
                {"opting_type_annotation": True, "omitting_type_annotation": False}.get(annotation.type)
                if annotation is not None
                else None
            ),
            opaque=self.opaque(node),
        )

    def _wrapped(self, node: Node, depth: int) -> TsType:
        written = self._only(node, {"readonly"})
        if written is None:
            return TsOpaque(opaque=self.opaque(node))
        item = self.read(written, depth + 1)
        return TsArray(item=item) if node.type == "array_type" else item

    def _flat(self, node: Node, depth: int) -> tuple[TsType, ...]:
        """Read the members of a union or an intersection, which the tree nests to the left as deep as they are many."""
        members: list[TsType] = []
        pending = [node]
        while pending:
            part = pending.pop()
            if part.type == node.type:
                pending.extend(reversed(list(significant(part))))
                continue
            member = self.read(part, depth + 1)
            same = TsUnion if node.type == "union_type" else TsIntersection
            members.extend(member.members if isinstance(member, same) else (member,))
        return tuple(members)

    def _literal(self, node: Node) -> TsType:
        child = node.children[0]
        if child.type in ("null", "undefined"):
            return TsKeyword(name="null" if child.type == "null" else "undefined")
        value = read_literal(self.file, child)
        return TsOpaque(opaque=self.opaque(node)) if value is None else TsLiteral(value=value)

    def _tuple(self, node: Node, depth: int) -> TsType:
        items = list(significant(node))
        plain = all(not item.type.endswith(("_parameter", "optional_type", "rest_type")) for item in items)
        read = tuple(self.read(item, depth + 1) for item in items) if plain else ()
        item = TsUnion(members=read) if len(read) > 1 else next(iter(read), TsKeyword(name="unknown"))
        return TsArray(item=item, opaque=self.opaque(node))

    def _generic(self, node: Node, depth: int) -> TsType:
        """Read `Array<T>`, `Record<string, T>`, and references with arguments."""
        name_node = node.child_by_field_name("name")
        arguments_node = node.child_by_field_name("type_arguments")
        written = [] if arguments_node is None else list(significant(arguments_node))
        arguments = tuple(self.read(argument, depth + 1) for argument in written)
        if name_node is None or name_node.type != "type_identifier":
            return TsOpaque(opaque=self.opaque(node))
        name = self.file.text(name_node)
        if name in ("Array", "ReadonlyArray") and len(arguments) == 1:
            return TsArray(item=arguments[0])
        if name == "Record" and len(arguments) == 2 and arguments[0] == TsKeyword(name="string"):
            return TsObject(members=(), index=arguments[1])
        if name in _GLOBAL_OPAQUE:
            return TsOpaque(opaque=self.opaque(node))
        if name not in UTILITIES:
            self.types_used.append((read_identifier(self.file, name_node), name_node))
        return TsReference(name=name, arguments=arguments, opaque=self.opaque(node))

    def _typeof(self, node: Node) -> TsType:
        names = list(significant(node, {"typeof"}))
        if len(names) != 1 or names[0].type != "identifier":
            return TsOpaque(opaque=self.opaque(node))
        name = read_identifier(self.file, names[0])
        self.constants_used.append((name, names[0]))
        return TsTypeof(constant=name) if name in self._constants else TsOpaque(opaque=self.opaque(node))

    def _keyof(self, node: Node, depth: int) -> TsType:
        written = self._only(node, {"keyof"})
        if written is None or written.type == "type_query":
            return TsOpaque(opaque=self.opaque(node), kind=Kind.STRING)
        return TsKeyof(type=self.read(written, depth + 1), opaque=self.opaque(node))

    def _indexed(self, node: Node, depth: int) -> TsType:
        parts = list(significant(node))
        if len(parts) != 2 or parts[0].type == "type_query":
            return TsOpaque(opaque=self.opaque(node))
        type_, index = (self.read(part, depth + 1) for part in parts)
        return TsIndexed(type=type_, index=index, opaque=self.opaque(node))

    def _reference(self, node: Node) -> TsType:
        name = read_identifier(self.file, node)
        if name in self.parameters:
            return TsReference(name=name)
        if name in self._shared:
            return TsReference(name=self._shared[name])
        if name in self._imported:
            return TsOpaque(opaque=self.opaque(node))
        self.types_used.append((name, node))
        return TsReference(name=name)

    def unknown_names(self, declared: Mapping[str, object]) -> Iterator[tuple[str, Node]]:
        """Iterate over the names of types that are used, not declared, and not TypeScript's own."""
        known = {*declared, *_GLOBAL, *_GLOBAL_OPAQUE}
        return ((name, node) for name, node in self.types_used if name not in known)

    def _only(self, node: Node, tokens: Iterable[str] = ()) -> Node | None:
        """Return the one child that means something, or None."""
        children = list(significant(node, tokens))
        return children[0] if len(children) == 1 else None


UTILITIES = frozenset(
    "Omit Pick Partial Required Readonly Record Exclude Extract NonNullable Awaited ReturnType Parameters "
    "ConstructorParameters InstanceType Uppercase Lowercase Capitalize Uncapitalize ThisType NoInfer".split()
)
"""The generic types that TypeScript declares itself."""


def global_type(name: str) -> Keyword | None:
    """Return the keyword that says the same as a type of TypeScript's own, or None if JSON has no form for it."""
    return _GLOBAL.get(name)
