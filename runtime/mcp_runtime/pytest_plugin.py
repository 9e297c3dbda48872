"""The pytest plugin with the `mcp_errors` fixture. It loads nothing else of the runtime."""

import logging
from collections.abc import Iterator
from typing import Final

import pytest

_LOGGER: Final = "mcp_runtime"


class _Errors(logging.Handler):
    """Collects the errors that the runtime logs: exceptions in handlers and tools, which clients do not see."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def mcp_errors() -> Iterator[list[logging.LogRecord]]:
    """The errors that servers logged during the test, which clients do not see. Any that remain fail the test."""
    errors = _Errors()
    logger = logging.getLogger(_LOGGER)
    logger.addHandler(errors)
    try:
        yield errors.records
    finally:
        logger.removeHandler(errors)
    if errors.records:
        said = "\n".join(map(logging.Formatter().format, errors.records))
        pytest.fail(f"the server logged errors:\n{said}", pytrace=False)
