"""The package of an extension shares the classes of its revision, is lazy, and passes strict type checkers."""

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mcp_bindings import v2026_07_28 as mcp
from mcp_bindings.extensions import tasks, ui
from mcp_runtime.core.errors import BindingFormatError
from mcp_runtime.core.method import Direction
from mcp_runtime.extensions.binding import ExtensionBinding
from support.checkers import mypy, pyright
from support.command import Cli
from support.extensions import DIRECTIONS, ID, ORDERS, REVISION, TASKS, UI

ROOT = Path(__file__).resolve().parents[2]
USE = """
from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.core.stub import Caller
from acme import orders


class Client(orders.ClientMixin, mcp.Client):
    '''A client with both.'''


async def use(caller: Caller) -> str:
    client = Client(caller)
    await client.list_tools()
    placed = await client.place_order(order=orders.Order(loaves=2.5, table=1))
    await client.notify_rate_order(stars=5)
    await orders.ServerMixin(caller).notify_baked_order(number=placed.number)
    failure: mcp.Error | None = orders.Order(loaves=1, table=1).failure
    record = orders.EXTENSION.results["tools/call"]["ordered"]
    return placed.number if failure is None else record.name
"""


class TestTasks:
    def test_a_result_is_built_and_written(self) -> None:
        created = tasks.CreateTaskResult(
            task_id="1", status="working", created_at="then", last_updated_at="now", ttl_ms=None
        )
        assert created.model_dump_json(exclude={"created_at", "last_updated_at"}) in (
            '{"resultType":"task","taskId":"1","status":"working","ttlMs":null}',
            '{"taskId":"1","status":"working","ttlMs":null,"resultType":"task"}',
        )

    def test_classes_of_the_revision_are_shared(self) -> None:
        shared = set(vars(mcp)["__all__"]) & set(vars(tasks)["__all__"]) - {"METHODS"}
        assert {"InputRequests", "InputResponses", "Error", "RequestMetaObject"} <= shared
        for name in shared:
            assert getattr(tasks, name) is getattr(mcp, name), name

    def test_methods_have_directions(self) -> None:
        assert tasks.METHODS["tasks/get"].direction is Direction.CLIENT_TO_SERVER
        assert tasks.METHODS["notifications/tasks"].direction is Direction.SERVER_TO_CLIENT

    def test_the_binding_says_what_the_runtime_needs(self) -> None:
        binding = tasks.EXTENSION
        assert (binding.id, binding.revision, binding.methods) == (TASKS, REVISION, tasks.METHODS)
        assert binding.results["tools/call"]["task"].load() is tasks.CreateTaskResult
        assert binding.headers == {"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}
        assert binding.filters["subscriptions/listen"].load() is tasks.TaskSubscriptionNotifications
        assert binding.settings is not None and binding.settings.load() is tasks.TasksExtensionCapability
        with pytest.raises(FrozenInstanceError):
            binding.id = "other"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]

    def test_settings_without_properties_are_closed(self) -> None:
        assert tasks.TasksExtensionCapability.model_validate_json("{}").model_dump_json() == "{}"
        with pytest.raises(ValidationError):
            tasks.TasksExtensionCapability.model_validate_json('{"a": 1}')

    def test_a_state_is_read_by_its_tag(self) -> None:
        method: Any = tasks.METHODS["tasks/get"]
        text = b'{"resultType": "complete", "taskId": "1", "status": "failed", "createdAt": "a", "lastUpdatedAt": "b",'
        found = method.result.decode(text + b' "ttlMs": 1, "error": {"code": -32603, "message": "no"}}')
        assert isinstance(found, tasks.GetTaskResultFailedTask) and isinstance(found.error, mcp.Error)

    def test_there_is_no_revision_client_or_server(self) -> None:
        assert not {"REVISION", "Client", "Server", "BINDING"} & set(dir(tasks))

    def test_bindings_of_another_format_say_so(self) -> None:
        with pytest.raises(BindingFormatError):
            ExtensionBinding(format=1, package="p", id=ID, revision=REVISION, methods={})


class TestApps:
    def test_messages_are_models_without_stubs(self) -> None:
        assert ui.McpUiOpenLinkRequestParams(url="https://example.org").url == "https://example.org"
        assert not ui.EXTENSION.methods and not {"ClientMixin", "ServerMixin"} & set(dir(ui))

    @pytest.mark.parametrize("text", ['{"csp": {}}', '{"csp": null}'])
    def test_a_property_that_must_be_absent(self, text: str) -> None:
        assert ui.McpUiToolMeta.model_validate_json("{}").csp is None
        with pytest.raises(ValidationError):
            ui.McpUiToolMeta.model_validate_json(text)

    def test_types_of_the_revision_are_shared(self) -> None:
        block = mcp.TextContent(text="x")
        assert ui.McpUiMessageRequestParams(role="user", content=[block]).content[0] is block


def test_importing_an_extension_loads_no_models() -> None:
    program = (
        "import sys, mcp_bindings.extensions.tasks as t; t.EXTENSION; t.METHODS;"
        "print([m for m in sys.modules if m.startswith(('pydantic', 'mcp_bindings.v'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"


@pytest.fixture
def orders(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "".join(f'"{m}" = {{ direction = "{r["direction"]}", reason = "x" }}\n' for m, r in DIRECTIONS.items())
    table = f'[tool.mcp-bindgen.extensions."{ID}"]\nrevision = "{REVISION}"\nschema = "orders.ts"\n'
    table += f'results = {{ "tools/call" = "OrderedResult" }}\n[tool.mcp-bindgen.extensions."{ID}".directions]\n{rows}'
    (tmp_path / "pyproject.toml").write_text(table, "utf-8")
    (tmp_path / "orders.ts").write_text(ORDERS, "utf-8")
    monkeypatch.chdir(tmp_path)
    cli("generate", "--extension", ID, "--package", "acme.orders", "--quiet")
    (tmp_path / "acme" / "__init__.py").touch()
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["pyright", "mypy"])
def test_your_own_package_is_strictly_typed(checker: str, orders: Path) -> None:
    (orders / "use.py").write_text(USE, "utf-8")
    config = '{"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": ['
    config += ", ".join(f'"{ROOT / name}"' for name in ("runtime", "generated")) + "]}"
    (orders / "pyrightconfig.json").write_text(config, "utf-8")
    done = pyright(orders) if checker == "pyright" else mypy(orders, "-p", "acme", "-m", "use")
    assert done.returncode == 0, done.stdout
    assert not [path for path in orders.glob("acme/**/*.py") if "type: ignore" in path.read_text("utf-8")]


def test_ids_are_those_of_the_specification() -> None:
    assert (tasks.EXTENSION.id, ui.EXTENSION.id) == (TASKS, UI)
