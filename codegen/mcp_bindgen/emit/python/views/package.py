"""Views of a package, and of what its modules import."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_bindgen.emit.python.views.models import Module
from mcp_bindgen.emit.python.views.stubs import Decorator, Function, Side
from mcp_bindgen.emit.python.views.tables import Constant, Error, Lookup, Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A name that the package of a revision exports.

    Attributes:
        name: the name.
        module: the module that defines it.
    """

    name: str
    module: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The bindings of one revision.

    Attributes:
        revision: the revision.
        era: how its conversations begin: ``legacy`` (with a handshake) or ``modern`` (without one).
        format: the format of the bindings, which the runtime checks.
        has_batches: whether messages may be sent in batches.
        has_errors_without_id: whether an error response may leave out the id of its request.
        result_tag: the property that distinguishes the results of a request; may be empty.
        modules: the modules of models, by name.
        methods: the methods of the protocol.
        lookup: the methods by sender.
        has_deprecated: whether the revision deprecates classes, which other modules name nevertheless.
        constants: the constants of the protocol.
        errors: an exception for each error code.
        client: what a client sends and answers.
        server: what a server sends and answers.
        decorators: the decorators of an `App`; empty if the revision has nothing for them.
        exports: everything that the package exports, by name.
        has_source_lines: whether the place of each class and alias in the schema is a comment.
        kind: ``revision``.
    """

    revision: str
    era: str
    format: int
    has_batches: bool
    has_errors_without_id: bool
    result_tag: str
    modules: tuple[Module, ...]
    methods: tuple[Method, ...]
    lookup: Lookup
    has_deprecated: bool
    constants: tuple[Constant, ...]
    errors: tuple[Error, ...]
    client: Side
    server: Side
    decorators: tuple[Decorator, ...]
    exports: tuple[Export, ...]
    has_source_lines: bool = False
    kind: str = "revision"

    @property
    def machinery(self) -> tuple[Export, ...]:
        """Return the exports that no module of models holds."""
        held = {module.name for module in self.modules}
        return tuple(export for export in self.exports if export.module not in held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixin:
    """What an extension lets one side send.

    Attributes:
        name: the class.
        side: ``client`` or ``server``; also the name of its module.
        base: the stub of the revision that sends the same side's other messages.
        calls: what it sends: requests, iterators over their pages, notifications.
    """

    name: str
    side: str
    base: str
    calls: tuple[Function, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """The bindings of one extension.

    Attributes:
        id: its identifier, such as ``com.acme/orders``.
        revision: the revision that it extends.
        bindings: the package of that revision.
        format: the format of the bindings, which the runtime checks.
        modules: the modules of models.
        shared: the types of the revision that it uses.
        methods: the methods that it adds.
        lookup: these methods by sender.
        has_deprecated: whether the revision deprecates classes that it names.
        constants: its constants.
        mixins: what it lets each side send.
        results: the classes of additional results, by tag, by method.
        filters: the class of what it adds to the filter in a message, by method.
        settings: the class of its settings; empty if it has none.
        exports: everything that the package exports, by name.
        has_source_lines: whether the place of each class and alias in the schema is a comment.
        kind: ``extension``.
    """

    id: str
    revision: str
    bindings: str
    format: int
    modules: tuple[Module, ...]
    shared: tuple[str, ...]
    methods: tuple[Method, ...]
    lookup: Lookup
    has_deprecated: bool
    constants: tuple[Constant, ...]
    mixins: tuple[Mixin, ...]
    results: Mapping[str, Mapping[str, str]]
    filters: Mapping[str, str]
    settings: str
    exports: tuple[Export, ...]
    has_source_lines: bool = False
    kind: str = "extension"

    @property
    def machinery(self) -> tuple[Export, ...]:
        """Return the exports other than types."""
        return tuple(export for export in self.exports if export.module not in ("types", "revision"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A name that a page imports.

    Attributes:
        name: the name, or the module.
        local: what the page calls it: the same, unless the page binds that name itself.
    """

    name: str
    local: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """An import statement.

    Attributes:
        module: where the names are imported from; empty if they are modules themselves.
        names: what is imported, sorted.
    """

    module: str
    names: tuple[Imported, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sibling:
    """What a page imports from a module of the same package.

    Attributes:
        module: the module, without its dot.
        names: the names, sorted.
    """

    module: str
    names: tuple[str, ...]
