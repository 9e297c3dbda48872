"""Setup of every test run: the option `--cases`, a virtual clock, and a count of the official files that were used."""

import asyncio
import gc
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import suppress
from importlib.abc import Loader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import settings

from mcp_runtime.core.transports.http.client import streamable
from support import official
from support.command import Cli
from support.programs import quick_python
from support.times import Times
from support.virtual_time import use_virtual_time

WORKER_KEY = "official-files"
DEFAULT_CASES = 300
TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases",
        type=int,
        default=DEFAULT_CASES,
        metavar="N",
        help=f"generated inputs per differential test and revision (default: {DEFAULT_CASES})",
    )
    parser.addoption("--times", metavar="FILE", help="write the CPU seconds of each test to FILE, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    # The verdict on a commit is the same each time, on a slow machine too.
    settings.register_profile("same", deadline=None, derandomize=True, database=None)
    settings.load_profile("same")
    if absent := official.missing():
        raise pytest.UsageError(f"official files are missing, although their folder exists: {', '.join(absent)}")
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_Workers())
    if file := config.getoption("--times"):
        config.pluginmanager.register(Times(Path(file)))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Collect no garbage while the tests are collected: they stay."""
    gc.disable()
    worker: Mapping[str, Any] = getattr(session.config, "workerinput", {})
    if worker and [Path(each).resolve() for each in session.config.args] == [TESTS]:
        compile_share(session.config, int(worker["workerid"].removeprefix("gw")), worker["workercount"])


def compile_share(config: pytest.Config, number: int, workers: int) -> None:
    """Compile the share of a worker of all files of tests, with their assertions.

    In a fresh clone this takes most of the time of the collection, and otherwise every worker compiles them all.
    """
    pytest_compiles = next(each for each in sys.meta_path if type(each).__name__ == "AssertionRewritingHook")
    loader = cast("Loader", pytest_compiles)
    paths = [path for path in sorted(TESTS.rglob("test_*.py")) if not pytest_ignore_collect(path, config)]
    for path in paths[number::workers]:
        if any((path.parent / "__pycache__").glob(f"{path.stem}.*-pytest-*")):
            continue
        spec = spec_from_file_location(f"compiled_{path.stem}", path, loader=loader)
        assert spec
        module = module_from_spec(spec)
        setattr(module, "__builtins__", {})  # noqa: B010 # so its first import fails: only its compiled code is needed
        with suppress(ImportError):
            loader.exec_module(module)


def pytest_collection_finish() -> None:
    """Leave out of later collections what was made so far: it stays."""
    gc.freeze()
    gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import a file whose tests the option `-m` leaves out."""
    if collection_path.suffix != ".py":
        return None
    marks = re.search(r"^pytestmark = (.*)$", collection_path.read_text("utf-8"), re.MULTILINE)
    left_out: list[str] = re.findall(r"\bnot (\w+)", str(config.getoption("markexpr")))
    return True if marks and any(re.search(rf"\bmark\.{name}\b", marks[1]) for name in left_out) else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass the files that a worker of xdist used to the process that prints the summary."""
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[WORKER_KEY] = sorted(official.used)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not official.upstream().is_dir():
        terminalreporter.write_line(f"official inputs: none, {official.upstream()} does not exist (set MCP_UPSTREAM)")
        return
    terminalreporter.write_line(f"official inputs: {len(official.used)} of {len(official.expected())} used")


class _Workers:
    """Collects the files that the workers of xdist used."""

    def pytest_testnodedown(self, node: object) -> None:
        output: dict[str, list[str]] = getattr(node, "workeroutput", {})
        official.used.update(output.get(WORKER_KEY, ()))


@pytest.fixture
def cases(request: pytest.FixtureRequest) -> int:
    """How many inputs a differential test generates (`--cases`)."""
    number = request.config.getoption("--cases")
    assert isinstance(number, int)
    return number


@pytest.fixture
def cli(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Cli:
    """Runs mcp-bindgen in this process, in an empty current folder and with its own cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "MCP_BINDGEN_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return Cli(capsys)


@pytest.fixture
def servers_are_forks(cli: Cli) -> None:
    """Let commands in this process start servers with an interpreter that forks."""
    cli.python = quick_python()


@pytest.fixture
def without_formatting(cli: Cli) -> Generator[None]:
    """Leave out the formatting of what commands write in this process, which takes most of their time."""
    from support.once import unformatted

    with unformatted():
        yield


@pytest.fixture(autouse=True)
def servers_are_unknown() -> None:
    """Forget the eras of the servers of other tests, since their ports may be used again."""
    streamable.servers.clear()


@pytest.fixture
async def virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sleeps and timeouts of a test in memory take no time (`support.virtual_time`)."""
    use_virtual_time(asyncio.get_running_loop(), monkeypatch)
