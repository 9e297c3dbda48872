"""How a client of both eras detects the era of a server (2026-07-28, basic/transports/stdio)."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2025_06_18, v2025_11_25
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import ConnectionClosed, PeerError, UnsupportedRevision
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.memory import connect_memory
from mcp_runtime.opening import open_any
from support import legacy_program
from support.own import OWN, own
from support.roles import make_server

PROGRAM = str(Path(legacy_program.__file__))
REFUSALS = ["-32000", "-32601", "1"]


async def agreed_revision(*how: str, era: Any = "auto", minimum: str = "", timeout: float = 600) -> str:
    """Open a client of both eras on a program; return the revision in use."""
    options = ClientOptions(probe_timeout=timeout, era=era, minimum=minimum)
    async with connect_stdio(sys.executable, PROGRAM, *how) as peer:
        client = await open_any(peer, v.Client, v2025_06_18.Client, v2025_11_25.Client, options=options)
        assert not isinstance(client, v.Client)
        await client.ping()
        assert client.connection.peer_info["version"] == "1", "one initialize"
        assert not client.connection.request_meta(), "requests of a session do not describe their sender"
        return client.connection.revision


@pytest.mark.requirement("modern.any-error-is-legacy")
@pytest.mark.parametrize("how", [*([code] for code in REFUSALS), ["-32601", "null"], ["garbage"]])
async def test_any_other_answer_means_legacy_at_once(how: list[str]) -> None:
    async with asyncio.timeout(60):  # much less than the timeout of the probe
        assert await agreed_revision(*how) == "2025-11-25"


@pytest.mark.requirement("modern.any-error-is-legacy")
@pytest.mark.parametrize("how", ["silent", "late"])
async def test_silence_means_legacy_and_a_late_answer_is_ignored(how: str, caplog: pytest.LogCaptureFixture) -> None:
    assert await agreed_revision(how, timeout=0.2) == "2025-11-25"
    assert "late" not in caplog.text


async def test_a_server_that_crashes_on_the_probe_is_restarted() -> None:
    assert await agreed_revision("crash") == "2025-11-25"


async def test_a_server_that_lists_legacy_revisions_only_gets_one_initialize() -> None:
    assert await agreed_revision("legacy-only") == "2025-06-18"


async def test_no_probe_without_a_choice_of_eras() -> None:
    """A program that would crash on the probe survives."""
    assert await agreed_revision("crash", era="legacy") == "2025-11-25"
    async with connect_stdio(sys.executable, PROGRAM, "crash") as peer:
        client = await v2025_11_25.Client.open(peer)
        assert client.connection.revision == "2025-11-25"


@pytest.mark.parametrize(
    ("how", "only"),
    [(["-32601"], {"era": "modern"}), (["silent"], {"minimum": "2026-07-28"})],
    ids=["error", "silence"],
)
async def test_a_downgrade_can_be_refused(how: list[str], only: dict[str, Any]) -> None:
    options = ClientOptions(timeout=0.3, probe_timeout=0.2, **only)
    async with connect_stdio(sys.executable, PROGRAM, *how) as peer:
        with pytest.raises(UnsupportedRevision, match=r"this side speaks 2026-07-28, the server .*server/discover"):
            await open_any(peer, v.Client, v2025_11_25.Client, options=options)


@pytest.mark.requirement("modern.modern-error-is-modern")
async def test_a_modern_server_is_not_mistaken_for_a_legacy_one() -> None:
    async with connect_stdio(sys.executable, PROGRAM, "other") as peer:
        with pytest.raises(UnsupportedRevision, match="speaks 2025-11-25 or 2026-07-28, the peer speaks 2099-01-01"):
            await open_any(peer, v.Client, v2025_11_25.Client)
    async with connect_stdio(sys.executable, PROGRAM, "same") as peer:
        with pytest.raises(UnsupportedRevision, match=r"^the peer refused 2026-07-28, which it lists as supported$"):
            await open_any(peer, v.Client, v2025_11_25.Client)
    async with connect_stdio(sys.executable, PROGRAM, "-32021") as peer:
        with pytest.raises(PeerError, match="what"):
            await open_any(peer, v.Client, v2025_11_25.Client)


async def test_without_a_legacy_client_a_crash_is_reported() -> None:
    async with connect_stdio(sys.executable, PROGRAM, "crash") as peer:
        with pytest.raises(ConnectionClosed, match="status 3"):
            await v.Client.open(peer, options=OWN)


async def test_the_modern_era_is_preferred() -> None:
    async with connect_memory(make_server("2025-11-25"), make_server("2026-07-28")) as peer:
        client = await open_any(peer, v2025_11_25.Client, v.Client)
        assert isinstance(client, v.Client) and client.connection.revision == "2026-07-28"


async def test_a_legacy_client_learns_the_revisions_of_a_modern_server() -> None:
    async with connect_memory(own(make_server("2026-07-28"))) as peer:
        with pytest.raises(UnsupportedRevision, match="this side speaks 2025-11-25, the peer speaks 2026-07-28"):
            await v2025_11_25.Client.open(peer, options=OWN)


async def test_options_that_leave_no_revision_are_refused() -> None:
    async with connect_memory(make_server("2026-07-28")) as peer:
        with pytest.raises(ValueError, match=r"the options .era='legacy'.* leave no revision of 2026-07-28"):
            await v.Client.open(peer, options=ClientOptions(era="legacy", revisions="own"))
