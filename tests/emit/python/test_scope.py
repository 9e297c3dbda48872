"""What a page imports follows from what its templates print."""

from pathlib import Path

import pytest

from mcp_bindgen.emit.python.expressions import Defined, Symbol, expression, joined
from mcp_bindgen.emit.python.render import Page, Templates
from mcp_bindgen.emit.python.scope import Scope

OPTIONAL = expression(Symbol("typing.Annotated"), "[", expression(Defined("tools", "Tool")), " | None, 1]")


def rendered(template: str, tmp_path: Path, path: str = "page.py", **context: object) -> str:
    file = tmp_path / "page.j2"
    file.write_text(template, "utf-8")
    page = Page(path=path, template=str(file), context=context)
    return Templates(extra=[file]).render([page], ())[path].partition("do not edit.")[2].lstrip(" ->\n")


def test_an_expression_reads_as_python() -> None:
    assert str(OPTIONAL) == "Annotated[Tool | None, 1]"
    assert str(joined(", ", [OPTIONAL, expression("None")])) == "Annotated[Tool | None, 1], None"


def test_a_scope_records_what_it_spells() -> None:
    scope = Scope()
    spelled = scope.spell(OPTIONAL)
    assert spelled.endswith("Annotated[Tool | None, 1]")
    (found,) = scope.imports()
    assert (found.module, found.name) == ("typing", "Annotated")
    assert [(sibling.module, sibling.names) for sibling in scope.siblings()] == [("tools", ("Tool",))]
    assert scope.siblings("tools") == []


@pytest.mark.parametrize(
    ("path", "statement"),
    [
        ("typing", ("", "typing")),
        ("typing.Any", ("typing", "Any")),
        ("collections.abc.Mapping", ("collections.abc", "Mapping")),
        ("mcp_runtime.model", ("mcp_runtime", "model")),
        (".methods", (".", "methods")),
        (".binding.BINDING", (".binding", "BINDING")),
        ("acme.registry.registered", ("acme.registry", "registered")),
    ],
)
def test_the_import_of_a_path(path: str, statement: tuple[str, str]) -> None:
    scope = Scope()
    local = scope.use(path)
    (found,) = scope.imports()
    assert (found.module, found.name, found.local) == (*statement, local)


def test_a_template_imports_only_what_it_prints(tmp_path: Path) -> None:
    template = "{% set body %}x: {{ type }}{% endset %}\n{% include 'imports.py.j2' %}\n{{ body }}\n"
    assert "import Annotated" in rendered(template, tmp_path, type=OPTIONAL)
    assert "import Annotated" not in rendered(template.replace("{{ type }}", "int"), tmp_path, type=OPTIONAL)


def test_filters_know_expressions(tmp_path: Path) -> None:
    template = "x = {{ type | repr }}\ny = ({{ types | join(', ') }})\n{% include 'imports.py.j2' %}"
    text = rendered(template, tmp_path, type=OPTIONAL, types=[expression(Symbol("typing.Any")), expression("1")])
    assert 'Annotated[Tool | None, 1]"' in text
    assert "import Annotated" in text
    assert "import Any" in text


def test_a_document_has_the_plain_names(tmp_path: Path) -> None:
    assert rendered("{{ type | string }}", tmp_path, "page.md", type=OPTIONAL) == "Annotated[Tool | None, 1]"
