"""Reads a schema.ts: interfaces, type aliases and constants; everything else is an error that names the construct."""

from collections.abc import Iterable, Iterator
from typing import Literal

from tree_sitter import Node

from mcp_bindgen.diagnostics import Diagnostics, Location
from mcp_bindgen.ingest.typescript_source import Place, SourceFile, parse_source
from mcp_bindgen.ingest.typescript_syntax import (
    read_identifier,
    read_literal,
    read_string,
    significant,
    unsupported,
)
from mcp_bindgen.ingest.typescript_types import (
    Constant,
    Keyword,
    TsArray,
    TsDeclaration,
    TsExtends,
    TsIntersection,
    TsKeyword,
    TsLiteral,
    TsMember,
    TsObject,
    TsReference,
    TsType,
    TsTypeof,
    TsUnion,
    TypeScriptDocument,
)

__all__ = ["TsDeclaration", "TsExtends", "TypeScriptDocument", "read_placed", "read_typescript"]

MAX_DEPTH = 40

_KEYWORDS: dict[str, Keyword] = {
    "string": "string",
    "number": "number",
    "boolean": "boolean",
    "unknown": "unknown",
    "any": "any",
    "object": "object",
}
_UNREADABLE = TsKeyword(name="unknown")  # stands in for a type after an error was noted


def read_typescript(text: str, source: str, diagnostics: Diagnostics) -> TypeScriptDocument:
    """Read a schema.ts; whatever is wrong with it goes to `diagnostics`, and the rest is still read."""

    def place(line: int, column: int | None) -> Location:
        return Location(source=source, line=line or None, column=column)

    return read_placed(text, source, place, diagnostics)


def read_placed(text: str, source: str, place: Place, diagnostics: Diagnostics) -> TypeScriptDocument:
    """Read a schema.ts whose places in the input are not its own lines and columns."""
    syntax_errors = Diagnostics()
    file = parse_source(text, place, syntax_errors)
    diagnostics.extend(syntax_errors)
    if file is None:
        return TypeScriptDocument(source=source)
    file.diagnostics = diagnostics
    reader = _Reader(file)
    for statement in [] if file.root.is_error else file.root.children:
        if not statement.has_error:
            reader.read_statement(statement)
    if not syntax_errors.errors:  # else the missing name may be declared in what could not be parsed
        reader.check_names()
    revision = reader.constants.get("LATEST_PROTOCOL_VERSION")
    return TypeScriptDocument(
        source=source,
        revision=revision if isinstance(revision, str) else None,
        constants=reader.constants,
        constant_docs=reader.constant_docs,
        declarations=tuple(reader.declarations.values()),
    )


class _Reader:
    """Turns the syntax tree of one file into declarations."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.constants: dict[str, Constant] = {}
        self.constant_docs: dict[str, str] = {}
        self.declarations: dict[str, TsDeclaration] = {}
        self._types_used: list[tuple[str, Node]] = []
        self._constants_used: list[tuple[str, Node]] = []

    def read_statement(self, statement: Node) -> None:
        """Read one top-level statement."""
        exported = statement.child_by_field_name("declaration") if statement.type == "export_statement" else None
        if exported is not None:
            self._expect(statement, {"export"}, exported)
        node = statement if exported is None else exported
        match node.type:
            case "comment" | "empty_statement":
                pass
            case "interface_declaration":
                self._read_interface(node, statement)
            case "type_alias_declaration":
                self._read_alias(node, statement)
            case "lexical_declaration":
                self._read_constants(node, statement)
            case _:
                unsupported(self.file, node)

    def check_names(self) -> None:
        """Note every name that is used and not declared."""
        for name, node in self._types_used:
            if name not in self.declarations:
                self.file.error(node, f"type '{name}' is not declared in this file")
        for name, node in self._constants_used:
            if name not in self.constants:
                self.file.error(node, f"constant '{name}' of 'typeof {name}' is not declared in this file")

    def _read_interface(self, node: Node, statement: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        clauses = [child for child in node.children if child.type == "extends_type_clause"]
        self._expect(node, {"interface"}, name, body, *clauses)
        if name is None or body is None:
            return
        extends = tuple(base for clause in clauses for base in self._bases(clause))
        self._declare("interface", name, statement, body, extends)

    def _read_alias(self, node: Node, statement: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        self._expect(node, {"type"}, name, value)
        if name is not None and value is not None:
            self._declare("type", name, statement, value, ())

    def _declare(
        self,
        kind: Literal["interface", "type"],
        name: Node,
        statement: Node,
        body: Node,
        extends: tuple[TsExtends, ...],
    ) -> None:
        doc = self.file.doc(statement)
        declaration = TsDeclaration(
            name=read_identifier(self.file, name),
            kind=kind,
            extends=extends,
            body=self._object(body, 0) if kind == "interface" else self._type(body, 0),
            tags=doc.tags,
            doc=doc.text,
            where=self.file.where(statement),
            span=(body.start_byte, body.end_byte),
        )
        first = self.declarations.setdefault(declaration.name, declaration)
        if first is not declaration:
            self.file.error(name, f"'{declaration.name}' is declared twice, first at {first.where}")

    def _bases(self, clause: Node) -> Iterator[TsExtends]:
        for node in significant(clause, {"extends"}):
            span = (node.start_byte, node.end_byte)
            match node.type:
                case "type_identifier":
                    yield TsExtends(name=self._type_name(node), span=span)
                case "generic_type" if self._generic_name(node) == "Omit":
                    yield from self._omit(node)
                case _:
                    unsupported(self.file, node, " in 'extends'")

    def _omit(self, node: Node) -> Iterator[TsExtends]:
        """Read `Omit<Base, "a" | "b">`."""
        arguments = self._arguments(node)
        if len(arguments) != 2 or arguments[0].type != "type_identifier":
            self.file.error(node, "'Omit' needs the name of an interface and the names to leave out")
            return
        keys = self._type(arguments[1], 0)
        names = tuple(
            key.value
            for key in (keys.members if isinstance(keys, TsUnion) else (keys,))
            if isinstance(key, TsLiteral) and isinstance(key.value, str)
        )
        if len(names) != (len(keys.members) if isinstance(keys, TsUnion) else 1):
            self.file.error(arguments[1], "'Omit' can only leave out names that are written as strings")
        yield TsExtends(name=self._type_name(arguments[0]), omitted=names, span=(node.start_byte, node.end_byte))

    def _read_constants(self, node: Node, statement: Node) -> None:
        doc = self.file.doc(statement)
        for declarator in significant(node, {"const"}):
            if declarator.type != "variable_declarator":
                unsupported(self.file, declarator, " declaration")
                continue
            name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
            self._expect(declarator, (), name, value)
            if name is None or value is None:
                self.file.error(declarator, "a constant without a value")
                continue
            self._add_constant(name, value, doc.text)

    def _add_constant(self, name_node: Node, value_node: Node, doc: str) -> None:
        if value_node.type == "as_expression" and value_node.children[-1].type == "const":
            value_node = value_node.children[0]
        name, value = read_identifier(self.file, name_node), read_literal(self.file, value_node)
        if name in self.constants:
            self.file.error(name_node, f"constant '{name}' is declared twice")
        elif value is not None:
            self.constants[name] = value
            if doc:
                self.constant_docs[name] = doc

    def _object(self, node: Node, depth: int) -> TsObject:
        """Read the body of an interface or an inline object."""
        members: dict[str, TsMember] = {}
        index, index_span = None, None
        for child in significant(node):
            if child.type == "property_signature":
                member = self._member(child, depth)
                if member is not None and members.setdefault(member.name, member) is not member:
                    self.file.error(child, f"member '{member.name}' is declared twice")
            elif child.type == "index_signature":
                if index is not None:
                    self.file.error(child, "a second index signature")
                index, index_span = self._index(child, depth), (child.start_byte, child.end_byte)
            else:
                unsupported(self.file, child)
        return TsObject(members=tuple(members.values()), index=index, index_span=index_span)

    def _member(self, node: Node, depth: int) -> TsMember | None:
        name_node, annotation = node.child_by_field_name("name"), node.child_by_field_name("type")
        self._expect(node, {"readonly", "?"}, name_node, annotation)
        if name_node is None or annotation is None:
            self.file.error(node, f"member '{self.file.text(node)[:40]}' has no type")
            return None
        name, written = self._member_name(name_node), self._only(annotation)
        if name is None or written is None:
            return None
        doc = self.file.doc(node, plain_comments=True)
        return TsMember(
            name=name,
            optional=any(child.type == "?" for child in node.children),
            type=self._type(written, depth + 1),
            tags=doc.tags,
            doc=doc.text,
            where=self.file.where(node),
            span=(written.start_byte, written.end_byte),
        )

    def _member_name(self, node: Node) -> str | None:
        if node.type == "property_identifier":
            return read_identifier(self.file, node)
        if node.type == "string":
            return read_string(self.file, node)
        unsupported(self.file, node, " as the name of a member")
        return None

    def _index(self, node: Node, depth: int) -> TsType:
        """Read `[key: string]: T`."""
        name, key = node.child_by_field_name("name"), node.child_by_field_name("index_type")
        annotation = node.child_by_field_name("type")
        if not self._expect(node, {"readonly"}, name, key, annotation):
            return _UNREADABLE
        if key is None or annotation is None or annotation.type != "type_annotation":
            self.file.error(node, "only '[key: string]: T' is supported in square brackets")
            return _UNREADABLE
        if self.file.text(key) != "string":
            self.file.error(key, "an index signature whose key is not 'string' is not supported")
        written = self._only(annotation)
        return _UNREADABLE if written is None else self._type(written, depth + 1)

    def _type(self, node: Node, depth: int) -> TsType:
        """Read a type expression."""
        if depth > MAX_DEPTH:
            self.file.error(node, f"types are nested more than {MAX_DEPTH} levels deep")
            return _UNREADABLE
        match node.type:
            case "predefined_type" if (keyword := _KEYWORDS.get(self.file.text(node))) is not None:
                return TsKeyword(name=keyword)
            case "type_identifier":
                return TsReference(name=self._type_name(node))
            case "literal_type":
                return self._literal_type(node)
            case "parenthesized_type" | "readonly_type" | "array_type":
                written = self._only(node, {"readonly"})
                item = _UNREADABLE if written is None else self._type(written, depth + 1)
                return TsArray(item=item) if node.type == "array_type" else item
            case "union_type":
                members = self._flat(node, depth)
                return members[0] if len(members) == 1 else TsUnion(members=members)
            case "intersection_type":
                members = self._flat(node, depth)
                return members[0] if len(members) == 1 else TsIntersection(members=members)
            case "object_type":
                return self._object(node, depth)
            case "generic_type":
                return self._generic(node, depth)
            case "type_query":
                return self._typeof(node)
            case _:
                unsupported(self.file, node)
                return _UNREADABLE

    def _flat(self, node: Node, depth: int) -> tuple[TsType, ...]:
        """Read the members of a union or an intersection, which the tree nests to the left as deep as they are many."""
        members: list[TsType] = []
        pending = [node]
        while pending:
            part = pending.pop()
            if part.type == node.type:
                pending.extend(reversed(list(significant(part))))
                continue
            member = self._type(part, depth + 1)
            same = TsUnion if node.type == "union_type" else TsIntersection
            members.extend(member.members if isinstance(member, same) else (member,))
        return tuple(members)

    def _literal_type(self, node: Node) -> TsType:
        child = node.children[0]
        if child.type == "null":
            return TsKeyword(name="null")
        value = read_literal(self.file, child)
        return _UNREADABLE if value is None else TsLiteral(value=value)

    def _generic(self, node: Node, depth: int) -> TsType:
        """Read `Array<T>` and `Record<string, T>`."""
        name, arguments = self._generic_name(node), self._arguments(node)
        if name == "Array" and len(arguments) == 1:
            return TsArray(item=self._type(arguments[0], depth + 1))
        if name == "Record" and len(arguments) == 2 and self.file.text(arguments[0]) == "string":
            return TsObject(members=(), index=self._type(arguments[1], depth + 1))
        self.file.error(node, f"'{name}<...>' is not supported here: only Array<T> and Record<string, T> are")
        return _UNREADABLE

    def _generic_name(self, node: Node) -> str:
        name = node.child_by_field_name("name")
        return "" if name is None else self.file.text(name)

    def _arguments(self, node: Node) -> list[Node]:
        arguments = node.child_by_field_name("type_arguments")
        return [] if arguments is None else list(significant(arguments))

    def _typeof(self, node: Node) -> TsType:
        names = list(significant(node, {"typeof"}))
        if len(names) != 1 or names[0].type != "identifier":
            self.file.error(node, "'typeof' is supported for the name of a constant only")
            return _UNREADABLE
        name = read_identifier(self.file, names[0])
        self._constants_used.append((name, names[0]))
        return TsTypeof(constant=name)

    def _type_name(self, node: Node) -> str:
        name = read_identifier(self.file, node)
        self._types_used.append((name, node))
        return name

    def _only(self, node: Node, tokens: Iterable[str] = ()) -> Node | None:
        """Return the one child that means something; None after an error."""
        children = list(significant(node, tokens))
        for child in children[1:] or ([] if children else [node]):
            unsupported(self.file, child)
        return children[0] if len(children) == 1 else None

    def _expect(self, node: Node, tokens: Iterable[str], *known: Node | None) -> bool:
        """Note every child that is neither punctuation, nor one of the tokens, nor a node read elsewhere."""
        others = [child for child in significant(node, tokens) if child not in known]
        for child in others:
            unsupported(self.file, child)
        return not others
