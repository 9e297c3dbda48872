"""The pytest fixture `mcp_mock`; put ``pytest_plugins = ["mcp_bindgen.mock.pytest_plugin"]`` into your conftest.py."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from mcp_bindgen.mock import serve

if TYPE_CHECKING:
    from mcp_bindgen.mock.serving import Mock


@pytest.fixture
def mcp_mock() -> "Iterator[Callable[..., Mock]]":
    """Serves mocks over HTTP until the test ends: `mcp_mock(lock=...)` takes what `mcp_bindgen.mock.serve` takes.

    A call that a session does not have fails the test.
    """
    mocks: list[Mock] = []
    with ExitStack() as stack:

        def started(**options: Any) -> "Mock":
            mocks.append(stack.enter_context(serve(**options)))
            return mocks[-1]

        yield started
    if unrecorded := [reason for mock in mocks for reason in mock.unrecorded]:
        pytest.fail("\n".join(unrecorded), pytrace=False)
