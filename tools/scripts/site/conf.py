"""Settings of Sphinx for the site."""

from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from scripts.site.annotations import simplify
from scripts.site.navigation import beside

from support.public_api import binding_packages, doors, public_objects

project = "mcp-bindgen"
author = "mcp-bindgen contributors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

html_theme = "furo"
html_title = "mcp-bindgen"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_use_index = False
html_domain_indices = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

# Headings get the same anchors as on Git hosts, and links to them are checked.
myst_heading_anchors = 4

# A name between single backticks in a docstring is a link to what it names, where the reference has it.
default_role = "py:obj"
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
# The tree of all pages is written into each page: without the names on them it takes a tenth of the time.
toc_object_entries = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
napoleon_numpy_docstring = False
napoleon_use_ivar = True


def setup(app: Any) -> None:
    """Connect what Sphinx calls while it writes pages."""
    # Sphinx remembers the stems of words of one page only.
    words = import_module("sphinx.search.en").SearchEnglish
    words.stem = cache(words.stem)
    # Napoleon looks at every attribute of a class here, for options that are off; pydantic then builds validators.
    app.events.listeners["autodoc-skip-member"].clear()
    app.connect("builder-inited", _find_public_names)
    app.connect("builder-inited", _simplify_annotations)
    app.connect("autodoc-process-signature", _readable_signature)
    # Napoleon takes what is before a colon in the docstring of an attribute for its type.
    written: dict[str, list[str]] = {}
    app.connect("autodoc-process-docstring", partial(_keep, written), priority=400)
    app.connect("autodoc-process-docstring", partial(_restore, written), priority=600)
    # The theme's own tree comes between the two; it makes none where it finds no table of contents.
    app.connect("html-page-context", _without_contents, priority=400)
    app.connect("html-page-context", _with_navigation, priority=600)


def _simplify_annotations(_app: Any) -> None:
    packages = {import_module(package): names for package, names in binding_packages().items()}
    simplify(public_objects().values())
    simplify(getattr(package, name) for package, names in packages.items() for name in names)


def _readable_signature(
    _app: Any, _kind: str, _name: str, value: object, _options: Any, arguments: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Return no arguments for a model, whose fields are listed below it, and defaults that Sphinx can parse."""
    if hasattr(value, "__pydantic_fields__"):
        return "", None
    return arguments and arguments.replace("<factory>", "..."), returned


def _keep(written: dict[str, list[str]], _app: Any, kind: str, name: str, *rest: Any) -> None:
    if kind in ("attribute", "property"):
        written[name] = [*rest[-1]]


def _restore(written: dict[str, list[str]], _app: Any, kind: str, name: str, *rest: Any) -> None:
    if kind in ("attribute", "property"):
        rest[-1][:] = written.pop(name)


def _without_contents(_app: Any, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    context.pop("toctree", None)


def _with_navigation(app: Any, name: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    parents = {below: page for page, pages in app.env.toctree_includes.items() for below in pages}
    context["furo_navigation_tree"] = beside(name, _navigation_tree(app), parents)


@cache
def _navigation_tree(app: Any) -> str:
    """Return the tree of all pages as the theme makes it for the root page."""
    # Found by name, because type checkers run where neither Sphinx nor the theme is installed.
    contents_of = import_module("sphinx.environment.adapters.toctree").global_toctree_for_doc
    with_switches = import_module("furo.navigation").get_navigation_tree
    whole = {"includehidden": True, "maxdepth": -1, "titles_only": True}
    contents = contents_of(app.env, app.config.root_doc, app.builder, tags=app.tags, **whole)
    tree: str = with_switches(app.builder.render_partial(contents)["fragment"])
    return tree


def _find_public_names(app: Any) -> None:
    """Link names to the entry of exactly that name, or to the one public name of the runtime.

    Sphinx compares each name in an annotation with the ends of all others: that is slow, and finds `list` of a class.
    """
    domain = app.env.domains.python_domain
    find = domain.find_obj
    public: dict[str, set[str]] = {}
    for module, names in doors().items():
        for name in names:
            public.setdefault(name, set()).add(f"{module}.{name}")

    def find_exactly(env: Any, module: str, class_: str, name: str, *kind: Any) -> list[Any]:
        found: list[Any] = find(env, module, class_, name, *kind[:1])
        for home in sorted(public.get(name, ())) if not found else ():
            found = found or find(env, None, None, home, *kind[:1])
        return found

    domain.find_obj = find_exactly
