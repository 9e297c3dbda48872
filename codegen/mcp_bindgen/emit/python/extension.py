"""Lay out the package of one extension: its types share the classes of the revision that it extends."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.classes import ClassViews
from mcp_bindgen.emit.python.inheritance import Inheritance
from mcp_bindgen.emit.python.methods import constant_views, lookup, method_views
from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.emit.python.package import BINDING_FORMAT, pages
from mcp_bindgen.emit.python.render import Page
from mcp_bindgen.emit.python.scope import names_in
from mcp_bindgen.emit.python.spelling import Speller
from mcp_bindgen.emit.python.stubs import StubViews
from mcp_bindgen.ingest.revisions import revision_folder
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.extensions import Extension
from mcp_bindgen.ir.facts import params_structs
from mcp_bindgen.ir.names import references

BINDINGS = "mcp_bindings"
"""The package that contains the packages of the revisions."""
_TYPES = "types"
_REVISION = "revision"


def extension_view(extension: Extension, diagnostics: Diagnostics) -> views.Extension:
    """Return the views of everything that is emitted for an extension.

    Raises:
        InputError: names of the extension are not distinct in Python.
    """
    protocol = extension.protocol
    added = replace(protocol, methods=extension.methods)
    names = _names(extension, diagnostics)
    inheritance = Inheritance(protocol, names)
    used = sorted(_used(extension, inheritance) - extension.own)
    modules = {name: _TYPES if name in extension.own else _REVISION for name in protocol.definitions}
    speller = Speller(protocol, names, modules)
    classes = ClassViews(protocol, names, speller, inheritance, modules, link=extension.link)
    stubs = StubViews(added, names, speller)
    both = (
        views.Mixin(name="ClientMixin", side="client", base="Client", calls=stubs.client().calls),
        views.Mixin(name="ServerMixin", side="server", base="ConnectedClient", calls=stubs.server().calls),
    )
    mixins = tuple(mixin for mixin in both if mixin.calls)
    constants = constant_views(protocol, names)
    exports = {names.classes[name]: modules[name] for name in (*extension.own, *used)}
    exports |= {mixin.name: mixin.side for mixin in mixins}
    exports |= {constant.name: "constants" for constant in constants}
    exports |= {"METHODS": "methods", "EXTENSION": "extension"}
    return views.Extension(
        id=extension.id,
        revision=protocol.revision,
        bindings=f"{BINDINGS}.{revision_folder(protocol.revision)}",
        format=BINDING_FORMAT,
        modules=tuple(module for module in classes.modules() if module.name == _TYPES),
        shared=tuple(names.classes[name] for name in used),
        methods=tuple(
            replace(method, named=extension.headers.get(method.method, ""))
            for method in method_views(protocol, names, speller)
            if method.message in extension.own
        ),
        lookup=lookup(added, names),
        has_deprecated=any(
            struct.deprecated for struct in protocol.structs() if struct.name in (*extension.own, *used)
        ),
        constants=constants,
        mixins=mixins,
        results={
            method: {tag: names.classes[result] for tag, result in results.items()}
            for method, results in extension.results.items()
        },
        filters={method: names.classes[name] for method, name in extension.filters.items()},
        settings=names.classes[extension.settings] if extension.settings else "",
        exports=tuple(views.Export(name=name, module=exports[name]) for name in sorted(exports)),
    )


def extension_pages(extension: views.Extension) -> Iterator[Page]:
    """Iterate over the pages of an extension's package."""
    parts: Mapping[str, object] = {
        _REVISION: (),
        **({"constants": (extension.constants,)} if extension.constants else {}),
        "methods": (extension.methods,),
        "extension": (),
    }
    yield from pages(extension, parts)
    for mixin in extension.mixins:
        yield Page(
            path=f"{mixin.side}.py",
            template="mixin.py.j2",
            context={"package": extension, "mixin": mixin},
            bound=names_in((mixin,)),
            reaches_models=True,
        )


def _names(extension: Extension, diagnostics: Diagnostics) -> Names:
    """Name everything in Python; only names of the extension are reported."""
    found = Diagnostics(strict=diagnostics.strict)
    names = Names(extension.protocol, extension.protocol.sources[0].name, found)
    for diagnostic in found:
        if diagnostic.where.pointer.split("/")[1] in extension.own or diagnostic in found.errors:
            diagnostics.add(diagnostic)
    diagnostics.raise_errors()
    return names


def _used(extension: Extension, inheritance: Inheritance) -> set[str]:
    """Return the definitions that the classes, methods and stubs of the extension name."""
    found = {name for method in extension.methods for name in (method.params, method.result) if name}
    for method in extension.methods:
        for struct in params_structs(extension.protocol, method):
            found.update(name for field in struct.fields for name in references(field.type))
    for name in extension.own:
        found.update(inheritance.needs(extension.protocol.definitions[name]))
    return found
