"""Reads the type expressions of a schema.ts; one that cannot be read any further is kept as text."""

from collections.abc import Iterable, Iterator, Mapping

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
    INDEXED,
    KEYOF,
    NEVER,
    NUMBER,
    UNDEFINED,
    Body,
    Constant,
    Expression,
    Member,
    Written,
    union_of,
)
from mcp_bindgen.ir.nodes import ANY, NULL, STRING, AllOf, Kind, ListOf, Literal, MapOf, Opaque, Primitive, Ref, Union

MAX_DEPTH = 40

_BOOLEAN = Primitive(kind=Kind.BOOLEAN)
_OBJECT: MapOf[Written] = MapOf(value=ANY)
_MAPPED = {"opting_type_annotation": "in ?", "omitting_type_annotation": "in -?"}
_KEYWORDS: Mapping[str, Written] = {
    "string": STRING,
    "number": NUMBER,
    "boolean": _BOOLEAN,
    "null": NULL,
    "unknown": ANY,
    "any": ANY,
    "object": _OBJECT,
    "undefined": UNDEFINED,
    "void": UNDEFINED,
    "never": NEVER,
}
GLOBAL: Mapping[str, Written] = {
    "Date": Primitive(kind=Kind.STRING, format="date-time"),
    "Object": _OBJECT,
    "String": STRING,
    "Number": NUMBER,
    "Boolean": _BOOLEAN,
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

    def unread(self, node: Node) -> Expression:
        """Return a type that cannot be read any further, such as a conditional one, as its text."""
        return self._expression("", node)

    def _expression(self, operator: str, node: Node, *operands: Written) -> Expression:
        opaque = self.opaque(node)
        return Expression(operator=operator or opaque.text, operands=operands, opaque=opaque)

    def read(self, node: Node, depth: int = 0) -> Written:
        """Read a type expression."""
        return self.unread(node) if depth > MAX_DEPTH else self._plain(node, depth)

    def _plain(self, node: Node, depth: int) -> Written:
        match node.type:
            case "predefined_type" if (keyword := _KEYWORDS.get(self.file.text(node))) is not None:
                return keyword
            case "type_identifier":
                return self._reference(node)
            case "literal_type":
                return self._literal(node)
            case "parenthesized_type" | "readonly_type" | "array_type":
                return self._wrapped(node, depth)
            case "union_type":
                return union_of(self._flat(node, depth))
            case "intersection_type":
                members = self._flat(node, depth)
                return members[0] if len(members) == 1 else AllOf(members=members)
            case "object_type":
                return self._mapped(node, depth) or self.read_object(node, depth)
            case _:
                return self._computed(node, depth)

    def _computed(self, node: Node, depth: int) -> Written:
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
                return self.unread(node)
            case _:
                return self.unread(node)

    def read_object(self, node: Node, depth: int = 0) -> Body:
        """Read the body of an interface or an inline object."""
        members: dict[str, Member] = {}
        index, index_span, opaque = None, None, None
        for child in significant(node):
            if child.type in ("property_signature", "method_signature"):
                member = self._member(child, depth)
                first = member if member is None else members.setdefault(member.wire_name, member)
                # A method may be overloaded, and an accessor is there to read and to write.
                if member is not None and first is not member and child.type == "property_signature":
                    self.file.error(child, f"member '{member.wire_name}' is declared twice")
            elif child.type == "index_signature" and index is None:
                index, opaque = self._index(child, depth)
                index_span = (child.start_byte, child.end_byte)
            else:
                not_read(self.file, child)
        return Body(
            properties=tuple(members.values()),
            extra=ANY if index is None else index,
            indexed=index is not None,
            index_span=index_span,
            opaque=opaque,
        )

    def _member(self, node: Node, depth: int) -> Member | None:
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
        return Member(
            wire_name=name,
            required=all(child.type != "?" for child in node.children),
            type=self.unread(node) if written is None else self.read(written, depth + 1),
            deprecated="deprecated" in doc.tags,
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

    def _index(self, node: Node, depth: int) -> tuple[Written | None, Opaque | None]:
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

    def _mapped(self, node: Node, depth: int) -> Written | None:
        """Read `{ [K in Keys]: T }`, or return None if the object is none."""
        children = list(significant(node))
        clause = children[0].named_child(0) if len(children) == 1 and children[0].type == "index_signature" else None
        if clause is None or clause.type != "mapped_type_clause":
            return None
        annotation = children[0].child_by_field_name("type")
        name, keys = clause.child_by_field_name("name"), clause.child_by_field_name("type")
        written = None if annotation is None else self._only(annotation, ("?:", "-?:", "+?:"))
        if name is None or keys is None or written is None or clause.child_by_field_name("alias") is not None:
            return self.unread(node)
        parameter = self.file.text(name)
        read_keys = self.read(keys, depth + 1)
        outer, self.parameters = self.parameters, self.parameters | {parameter}
        value = self.read(written, depth + 1)
        self.parameters = outer
        operator = _MAPPED.get(annotation.type, "in") if annotation is not None else "in"
        return self._expression(operator, node, Ref(name=parameter), read_keys, value)

    def _wrapped(self, node: Node, depth: int) -> Written:
        written = self._only(node, {"readonly"})
        if written is None:
            return self.unread(node)
        item = self.read(written, depth + 1)
        return ListOf(item=item) if node.type == "array_type" else item

    def _flat(self, node: Node, depth: int) -> tuple[Written, ...]:
        """Read the members of a union or an intersection, which the tree nests to the left as deep as they are many."""
        members: list[Written] = []
        pending = [node]
        while pending:
            part = pending.pop()
            if part.type == node.type:
                pending.extend(reversed(list(significant(part))))
                continue
            member = self.read(part, depth + 1)
            same = Union if node.type == "union_type" else AllOf
            members.extend(member.members if isinstance(member, same) else (member,))
        return tuple(members)

    def _literal(self, node: Node) -> Written:
        child = node.children[0]
        if child.type in ("null", "undefined"):
            return _KEYWORDS[child.type]
        value = read_literal(self.file, child)
        return self.unread(node) if value is None else Literal(values=(value,))

    def _tuple(self, node: Node, depth: int) -> Written:
        items = list(significant(node))
        plain = all(not item.type.endswith(("_parameter", "optional_type", "rest_type")) for item in items)
        read = [self.read(item, depth + 1) for item in items] if plain else []
        return ListOf(item=union_of(read) if read else ANY, opaque=self.opaque(node))

    def _generic(self, node: Node, depth: int) -> Written:
        """Read `Array<T>`, `Record<string, T>`, and references with arguments."""
        name_node = node.child_by_field_name("name")
        arguments_node = node.child_by_field_name("type_arguments")
        written = [] if arguments_node is None else list(significant(arguments_node))
        arguments = tuple(self.read(argument, depth + 1) for argument in written)
        if name_node is None or name_node.type != "type_identifier":
            return self.unread(node)
        name = self.file.text(name_node)
        if name in ("Array", "ReadonlyArray") and len(arguments) == 1:
            return ListOf(item=arguments[0])
        if name == "Record" and len(arguments) == 2 and arguments[0] == STRING:
            return Body(extra=arguments[1], indexed=True)
        if name in _GLOBAL_OPAQUE:
            return self.unread(node)
        if name not in UTILITIES:
            self.types_used.append((read_identifier(self.file, name_node), name_node))
        return self._expression(name, node, *arguments)

    def _typeof(self, node: Node) -> Written:
        names = list(significant(node, {"typeof"}))
        if len(names) != 1 or names[0].type != "identifier":
            return self.unread(node)
        name = read_identifier(self.file, names[0])
        self.constants_used.append((name, names[0]))
        return Literal(values=(self._constants[name],)) if name in self._constants else self.unread(node)

    def _keyof(self, node: Node, depth: int) -> Written:
        written = self._only(node, {"keyof"})
        if written is None or written.type == "type_query":
            return self.unread(node)
        return self._expression(KEYOF, node, self.read(written, depth + 1))

    def _indexed(self, node: Node, depth: int) -> Written:
        parts = list(significant(node))
        if len(parts) != 2 or parts[0].type == "type_query":
            return self.unread(node)
        return self._expression(INDEXED, node, *(self.read(part, depth + 1) for part in parts))

    def _reference(self, node: Node) -> Written:
        name = read_identifier(self.file, node)
        if name in self.parameters:
            return Ref(name=name)
        if name in self._shared:
            return Ref(name=self._shared[name])
        if name in self._imported:
            return self.unread(node)
        self.types_used.append((name, node))
        return Ref(name=name)

    def unknown_names(self, declared: Mapping[str, object]) -> Iterator[tuple[str, Node]]:
        """Iterate over the names of types that are used, not declared, and not TypeScript's own."""
        known = {*declared, *GLOBAL, *_GLOBAL_OPAQUE}
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
