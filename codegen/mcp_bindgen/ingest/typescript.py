"""Reads a schema.ts: interfaces, type aliases, enums and constants; other statements are skipped with a warning."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final, TypeAlias
from typing import Literal as OneOf

from tree_sitter import Node

from mcp_bindgen.ingest.typescript_expressions import TypeReader
from mcp_bindgen.ingest.typescript_source import (
    Place,
    SourceFile,
    not_read,
    parse_source,
    read_identifier,
    read_literal,
    significant,
    spelled,
)
from mcp_bindgen.ingest.typescript_types import (
    Body,
    Constant,
    Span,
    TsDeclaration,
    TsExtends,
    TypeScriptDocument,
    Written,
    union_of,
)
from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.ir.nodes import Literal, Ref

__all__ = ["TsDeclaration", "TsExtends", "TypeScriptDocument", "read_placed", "read_typescript"]


def read_typescript(
    text: str, source: str, diagnostics: Diagnostics, base: Collection[str] | None = None
) -> TypeScriptDocument:
    """Read a schema.ts; whatever is wrong with it goes to `diagnostics`, and the rest is still read.

    `base` are the types that an extension may import, those of the revision that it extends; None for a revision.
    """

    def place(line: int, column: int | None) -> Location:
        return Location(source=source, line=line or None, column=column)

    return read_placed(text, source, place, diagnostics, base)


def read_placed(
    text: str, source: str, place: Place, diagnostics: Diagnostics, base: Collection[str] | None = None
) -> TypeScriptDocument:
    """Read a schema.ts whose places in the input are not its own lines and columns."""
    syntax_errors = Diagnostics()
    file = parse_source(text, place, syntax_errors)
    diagnostics.extend(syntax_errors)
    if file is None:
        return TypeScriptDocument(source=source)
    file.diagnostics = diagnostics
    reader = _Reader(file, base)
    statements = [] if file.root.is_error else [node for node in file.root.children if not node.has_error]
    reader.read_constants(statements)
    for statement in statements:
        reader.read_statement(statement)
    if not syntax_errors.errors:  # else the missing name may be declared in what could not be parsed
        reader.check_names()
        reader.check_chains()
    revision = reader.constants.get("LATEST_PROTOCOL_VERSION")
    return TypeScriptDocument(
        source=source,
        revision=revision if isinstance(revision, str) else None,
        constants=reader.constants,
        constant_docs=reader.constant_docs,
        declarations=tuple(reader.declarations.values()),
        imports=reader.imports,
    )


Kind: TypeAlias = OneOf["interface", "type", "enum"]
MAX_CHAIN: Final = 64
"""How many types may extend each other in a chain."""
_SHOWN: Final = 5

_READ = frozenset({"interface_declaration", "type_alias_declaration", "enum_declaration"})
_UNREAD = frozenset({"class_declaration", "abstract_class_declaration", "internal_module"})
"""What declares types that are not read; a reference to one is kept as text."""


class _Reader:
    """Turns the syntax tree of one file into declarations."""

    def __init__(self, file: SourceFile, base: Collection[str] | None) -> None:
        self.file = file
        self.imports: dict[str, str] = {}
        self._base = base
        self.constants: dict[str, Constant] = {}
        self.constant_docs: dict[str, str] = {}
        self.declarations: dict[str, TsDeclaration] = {}
        self._values: set[str] = set()
        self._imported: set[str] = set()
        self._types = TypeReader(file, self.constants, self._imported, self.imports)

    def read_constants(self, statements: list[Node]) -> None:
        """Read the constants and the imports of all statements: types refer to those that come later, too."""
        declared: set[str] = set()
        for statement in statements:
            node = _inner(statement)
            if node.type in ("lexical_declaration", "variable_declaration"):
                self._read_constants(node, statement)
            elif node.type == "import_statement" and self._base is not None:
                self._read_import(node, self._base)
            elif node.type == "import_statement":
                not_read(self.file, node)
                self._imported |= {self.file.text(name) for name in _identifiers(node)}
            elif node.type in _UNREAD and (name := node.child_by_field_name("name")) is not None:
                self._imported.add(self.file.text(name))
            elif node.type in _READ and (name := node.child_by_field_name("name")) is not None:
                declared.add(self.file.text(name))
        # A namespace or a class may add to an interface of its name.
        self._imported -= declared

    def read_statement(self, statement: Node) -> None:
        """Read one top-level statement."""
        node = _inner(statement)
        match node.type:
            case "comment" | "empty_statement" | "lexical_declaration" | "variable_declaration" | "import_statement":
                pass
            case "interface_declaration":
                self._declare("interface", node, statement)
            case "type_alias_declaration":
                self._declare("type", node, statement)
            case "enum_declaration":
                self._declare("enum", node, statement)
            case "export_statement" if node.child_by_field_name("source") is None:
                self._read_exports(node)
            case _:
                not_read(self.file, node)

    def check_names(self) -> None:
        """Report every name that is used but not declared."""
        for name, node in self._types.unknown_names(self.declarations):
            self.file.error(node, f"type '{name}' is not declared in this file")
        for name, node in self._types.constants_used:
            if name not in self._values and name not in self._imported:
                self.file.error(node, f"constant '{name}' of 'typeof {name}' is not declared in this file")

    def check_chains(self) -> None:
        """Report the first chain of types that extend each other and are more than `MAX_CHAIN`."""
        levels, extends = dict.fromkeys(self.declarations, 1), {n: self._bases(n) for n in self.declarations}
        below: dict[str, str] = {}
        for _ in range(MAX_CHAIN):
            grown = False
            for name, bases in extends.items():
                longest = max(bases, key=levels.__getitem__, default=name)
                if bases and levels[longest] >= levels[name] and longest != name:
                    levels[name], below[name], grown = levels[longest] + 1, longest, True
            if not grown:
                break
        chain = [max(levels, key=levels.__getitem__)] if levels else []
        while chain and chain[-1] in below and below[chain[-1]] not in chain:
            chain.append(below[chain[-1]])
        if len(chain) > MAX_CHAIN:  # shorter in a cycle, which is another error
            text = " extends ".join(one[:40] for one in chain[:_SHOWN])
            where = self.declarations[chain[0]].where
            self.file.diagnostics.error(where, f"{len(chain)} types extend each other, over {MAX_CHAIN}: {text} ...")

    def _bases(self, name: str) -> list[str]:
        types = [base.type for base in self.declarations[name].extends]
        return [type_.name for type_ in types if isinstance(type_, Ref) and type_.name in self.declarations]

    def _read_import(self, node: Node, base: Collection[str]) -> None:
        """Read `import type { A as B }`: B is the file's name for A of the base revision."""
        specifiers = [each for each in _descendants(node) if each.type == "import_specifier"]
        if not specifiers:
            self.file.error(node, f"'{spelled(self.file, node)[:80]}': only `import type {{ ... }}` can be read")
        for specifier in specifiers:
            name = specifier.child_by_field_name("name")
            if name is None:
                continue
            text, local = self.file.text(name), specifier.child_by_field_name("alias") or name
            self.imports[self.file.text(local)] = text
            if not any(child.type == "type" for child in (*node.children, *specifier.children)):
                self.file.error(name, f"'{text}' is imported as a value; write `import type {{ {text} }}`")
            elif text not in base:
                self.file.error(name, f"'{text}' is imported, but the base revision has no type of that name")

    def _read_exports(self, node: Node) -> None:
        """Read `export { A as B }`: B is another name for A."""
        clauses = [child for child in node.children if child.type == "export_clause"]
        if not clauses:
            not_read(self.file, node)
        for specifier in (child for clause in clauses for child in significant(clause)):
            name, alias = specifier.child_by_field_name("name"), specifier.child_by_field_name("alias")
            if name is not None and alias is not None and self.file.text(name) not in self.constants:
                self._types.types_used.append((self.file.text(name), name))
                self._add(
                    TsDeclaration(
                        name=self.file.text(alias),
                        kind="type",
                        body=Ref(name=self.file.text(name)),
                        where=self.file.where(specifier),
                        span=(name.start_byte, name.end_byte),
                    ),
                    alias,
                )

    def _declare(self, kind: Kind, node: Node, statement: Node) -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("value" if kind == "type" else "body")
        if name is None or body is None:
            return
        clauses = [child for child in node.children if child.type == "extends_type_clause"]
        bases = [base for clause in clauses for base in significant(clause, {"extends"})]
        doc = self.file.doc(statement)
        parameters_node = node.child_by_field_name("type_parameters")
        names = [] if parameters_node is None else list(_parameter_names(parameters_node))
        self._types.parameters = frozenset(self.file.text(parameter) for parameter in names)
        declaration = TsDeclaration(
            name=read_identifier(self.file, name),
            kind=kind,
            parameters={self.file.text(parameter): self._default(parameter) for parameter in names},
            extends=tuple(TsExtends(type=self._types.read(base), span=_span(base)) for base in bases),
            body=self._body(kind, body),
            tags=doc.tags,
            doc=doc.text,
            where=self.file.where(statement),
            span=_span(body),
            parameters_span=None if parameters_node is None else _span(parameters_node),
        )
        self._types.parameters = frozenset()
        self._add(declaration, name)

    def _default(self, name: Node) -> Written | None:
        """Read the default of the parameter of a name."""
        value = name.parent.child_by_field_name("value") if name.parent is not None else None
        written = None if value is None else next(significant(value), None)
        return None if written is None else self._types.read(written)

    def _body(self, kind: Kind, body: Node) -> Written:
        match kind:
            case "interface":
                return self._types.read_object(body)
            case "enum":
                return self._enum(body)
            case "type":
                return self._types.read(body)

    def _enum(self, body: Node) -> Written:
        """Read the values of an enum; one without a value is the number after the one before it."""
        members: list[Written] = []
        following: int | None = 0
        for child in significant(body):
            value: Constant | None = following
            written = child.child_by_field_name("value") if child.type == "enum_assignment" else None
            if written is not None:
                value = read_literal(self.file, written)
            # A computed value may be anything: then the enum is not a closed set.
            members.append(self._types.unread(child) if value is None else Literal(values=(value,)))
            following = value + 1 if isinstance(value, int) and not isinstance(value, bool) else None
        return union_of(members)

    def _add(self, declaration: TsDeclaration, name: Node) -> None:
        first = self.declarations.get(declaration.name)
        if first is None:
            self.declarations[declaration.name] = declaration
            return
        if first.kind == declaration.kind == "interface":
            self.declarations[declaration.name] = self._merged(first, declaration, name)
            return
        if (first.body, first.extends) != (declaration.body, declaration.extends):
            self.file.warning(name, f"'{declaration.name}' is declared again and differs; {first.where} is ignored")
        self.declarations[declaration.name] = declaration

    def _merged(self, first: TsDeclaration, second: TsDeclaration, name: Node) -> TsDeclaration:
        """Merge two interfaces of one name, as TypeScript does."""
        ours, theirs = first.body, second.body
        assert isinstance(ours, Body) and isinstance(theirs, Body), "the body of an interface is an object"
        members = {member.wire_name: member for member in ours.properties}
        for member in theirs.properties:
            same = members.setdefault(member.wire_name, member)
            if (same.type, same.required) != (member.type, member.required):
                where = same.where
                self.file.warning(name, f"'{member.wire_name}' is declared again and differs; {where} is ignored")
                members[member.wire_name] = member
        stated = theirs if theirs.indexed else ours
        body = replace(stated, properties=tuple(members.values()), opaque=theirs.opaque or ours.opaque)
        extends = (*first.extends, *(base for base in second.extends if base not in first.extends))
        return replace(
            first, body=body, extends=extends, doc=first.doc or second.doc, tags={**first.tags, **second.tags}
        )

    def _read_constants(self, node: Node, statement: Node) -> None:
        doc = self.file.doc(statement)
        for declarator in (child for child in node.children if child.type == "variable_declarator"):
            name = declarator.child_by_field_name("name")
            if name is None:
                continue
            self._values.add(self.file.text(name))
            self._add_constant(name, declarator, doc.text)

    def _add_constant(self, name_node: Node, declarator: Node, doc: str) -> None:
        value_node = declarator.child_by_field_name("value")
        if value_node is None:  # `declare const X: "x"`
            annotation = declarator.child_by_field_name("type")
            written = None if annotation is None else next(significant(annotation), None)
            value_node = written.children[0] if written is not None and written.type == "literal_type" else None
        while value_node is not None and value_node.type in ("as_expression", "satisfies_expression"):
            value_node = value_node.children[0]
        value = None if value_node is None else read_literal(self.file, value_node)
        name = read_identifier(self.file, name_node)
        if value is None and (value_node is None or value_node.type != "string"):
            self.file.warning(name_node, f"the value of '{spelled(self.file, name_node)[:40]}' is not read")
        elif value is None:
            return  # read_string said why
        elif name in self.constants:
            self.file.error(name_node, f"constant '{name}' is declared twice")
        else:
            self.constants[name] = value
            if doc:
                self.constant_docs[name] = doc


def _inner(statement: Node) -> Node:
    """Return what a statement declares, behind `export`, `export default` and `declare`."""
    node = statement
    while node.type in ("export_statement", "ambient_declaration"):
        declared = [node.child_by_field_name("declaration"), node.child_by_field_name("value")]
        if node.type == "ambient_declaration":
            declared = list(significant(node, {"declare"}))
        inner = next((child for child in declared if child is not None), None)
        if inner is None or not (inner.type.endswith("_declaration") or inner.type in ("internal_module", "module")):
            return node
        node = inner
    return node


def _identifiers(node: Node) -> Iterator[Node]:
    """Iterate over the names that an import brings in."""
    for child in node.named_children:
        if child.type == "identifier":
            yield child
        elif child.type == "import_specifier":
            name = child.child_by_field_name("alias") or child.child_by_field_name("name")
            if name is not None:
                yield name
        elif child.type != "string":
            yield from _identifiers(child)


def _descendants(node: Node) -> Iterator[Node]:
    for child in node.named_children:
        yield child
        yield from _descendants(child)


def _parameter_names(parameters: Node) -> Iterator[Node]:
    for parameter in significant(parameters):
        name = parameter.child_by_field_name("name")
        if name is not None:
            yield name


def _span(node: Node) -> Span:
    return node.start_byte, node.end_byte
