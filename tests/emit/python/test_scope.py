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
    ((line,),) = scope.imports()
    assert (line.module, [imported.name for imported in line.names]) == ("typing", ["Annotated"])
    assert [(sibling.module, sibling.names) for sibling in scope.siblings()] == [("tools", ("Tool",))]
    assert scope.siblings("tools") == []


@pytest.mark.parametrize(
    ("path", "statement"),
    [
        ("typing", ("", "typing")),
        ("typing.Any", ("typing", "Any")),
        ("collections.abc.Mapping", ("collections.abc", "Mapping")),
        ("mcp_runtime.core.model", ("mcp_runtime.core", "model")),
        (".methods", (".", "methods")),
        (".binding.BINDING", (".binding", "BINDING")),
        ("acme.registry.registered", ("acme.registry", "registered")),
    ],
)
def test_the_import_of_a_path(path: str, statement: tuple[str, str]) -> None:
    scope = Scope()
    local = scope.use(path)
    ((line,),) = scope.imports()
    assert [(line.module, imported.name) for imported in line.names] == [statement]
    assert line.names[0].local == local


def test_an_import_keeps_its_name_unless_the_page_binds_it() -> None:
    scope = Scope({"list", "Literal"})
    assert [scope.use(f"builtins.{name}") for name in ("list", "str")] == ["_list", "str"]
    assert [scope.use(f"typing.{name}") for name in ("Literal", "Any")] == ["_Literal", "Any"]
    ((builtins, typing),) = scope.imports()
    assert [(name.name, name.local) for name in builtins.names] == [("list", "_list")]
    assert [(name.name, name.local) for name in typing.names] == [("Any", "Any"), ("Literal", "_Literal")]


def test_imports_are_sorted_into_sections() -> None:
    scope = Scope()
    for path in (".methods", "pydantic.Field", "typing.Any", "mcp_runtime.core.stub", "collections.abc.Mapping"):
        scope.use(path)
    sections = [[statement.module for statement in section] for section in scope.imports()]
    assert sections == [["collections.abc", "typing"], ["mcp_runtime.core", "pydantic"], ["."]]


def test_stubs_reach_the_models_through_one_module() -> None:
    scope = Scope(reaches_models=True)
    assert scope.spell(OPTIONAL) == "Annotated[models.Tool | None, 1]"
    assert scope.siblings() == []


def test_a_template_imports_only_what_it_prints(tmp_path: Path) -> None:
    template = "{% set body %}x: {{ type }}{% endset %}\n{% include 'imports.py.j2' %}\n{{ body }}\n"
    assert "import Annotated" in rendered(template, tmp_path, type=OPTIONAL)
    assert "import Annotated" not in rendered(template.replace("{{ type }}", "int"), tmp_path, type=OPTIONAL)


def test_filters_accept_expressions(tmp_path: Path) -> None:
    template = "x = {{ type | repr }}\ny = ({{ types | join(', ') }})\n{% include 'imports.py.j2' %}"
    text = rendered(template, tmp_path, type=OPTIONAL, types=[expression(Symbol("typing.Any")), expression("1")])
    assert 'Annotated[Tool | None, 1]"' in text
    assert "import Annotated, Any" in text


def test_a_document_has_the_plain_names(tmp_path: Path) -> None:
    assert rendered("{{ type | string }}", tmp_path, "page.md", type=OPTIONAL) == "Annotated[Tool | None, 1]"
