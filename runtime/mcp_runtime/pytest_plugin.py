"""A plugin of pytest: the fixture `mcp_errors`. Nothing of the runtime is loaded for it."""

import logging
from collections.abc import Iterator
from typing import Final

import pytest

_LOGGER: Final = "mcp_runtime"


class _Errors(logging.Handler):
    """Keeps what the runtime logs as an error: exceptions of handlers and tools, of which no client is told."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def mcp_errors() -> Iterator[list[logging.LogRecord]]:
    """What servers failed with inside, of which their clients are told nothing; what is left of it fails the test."""
    errors = _Errors()
    logger = logging.getLogger(_LOGGER)
    logger.addHandler(errors)
    try:
        yield errors.records
    finally:
        logger.removeHandler(errors)
    if errors.records:
        said = "\n".join(map(logging.Formatter().format, errors.records))
        pytest.fail(f"the server failed inside:\n{said}", pytrace=False)
