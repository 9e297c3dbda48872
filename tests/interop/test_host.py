"""A host of the reference servers: what models are shown of their tools keeps the written rules of three providers."""

import random
from pathlib import Path
from typing import Any

import pytest

from host import rules
from host.drawing import validator, value, without
from interop.processes import node_server, python_server
from mcp_bindings import Client
from mcp_runtime.host import Host, allow_all
from mcp_runtime.host.dialects import anthropic, gemini, openai
from mcp_runtime.host.dialects.reading import modern
from mcp_runtime.host.dialects.restoring import restore

pytestmark = pytest.mark.interop


def host_of(folder: Path) -> Host[Any]:
    commands = {
        "everything": node_server("everything"),
        "files": node_server("filesystem", str(folder)),
        "memory": node_server("memory"),
        "thinking": node_server("sequential-thinking"),
        "time": python_server("mcp_server_time"),
        "git": python_server("mcp_server_git"),
    }
    entries = {name: {"command": command[0], "args": [*command[1:]]} for name, command in commands.items()}
    return Host.from_mapping({"mcpServers": entries}, Client, wait=60, policy=allow_all)


async def test_every_tool_keeps_the_rules_of_every_provider(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with host_of(tmp_path) as host:
        assert {name: server.error for name, server in host.servers.items() if server.state != "ready"} == {}
        view = host.view()
    strict = view.for_openai()
    faults = [fault for tool in (*strict, *view.for_openai(strict=False)) for fault in rules.faults_of_openai(tool)]
    faults += [fault for tool in view.for_anthropic() for fault in rules.faults_of_anthropic(tool)]
    faults += [fault for tool in view.for_gemini() for fault in rules.faults_of_gemini(tool)]
    assert not faults
    assert len(strict) > 45
    drawn = 0
    for name, tool in view.tools.items():
        for dialect in (openai.STRICT, openai.LOOSE, anthropic.RULES, gemini.RULES):
            found = view.converted(name, dialect)
            losses = {(loss.pointer, loss.keyword) for loss in found.losses}
            accepts, keeps = validator(found.schema), validator(without(modern(tool.input_schema), losses))
            dice = random.Random(name)
            for given in (value(dice, found.schema, found.schema) for _ in range(50)):
                if accepts(given):
                    drawn += 1
                    assert keeps(restore(tool.input_schema, given)), (name, dialect.name, given)
    with capsys.disabled():
        print(f"\n{len(strict)} tools, {sum(tool['strict'] for tool in strict)} strict, {drawn:,} values")
