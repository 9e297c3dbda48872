"""Tasks in a SQLite file."""

from collections.abc import Generator
from pathlib import Path

import pytest

from mcp_runtime.extensions.tasks import SqliteTaskStore
from support.shared_tasks import Make, ServerLaws, StoreLaws


class TestStore(StoreLaws):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Generator[Make]:
        stores: list[SqliteTaskStore] = []

        def make(**more: float) -> SqliteTaskStore:
            stores.append(SqliteTaskStore(tmp_path / "tasks.db", **more))  # type: ignore[arg-type]
            return stores[-1]

        yield make
        for store in stores:
            store.close()


class TestServers(ServerLaws):
    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        return str(tmp_path / "tasks.db")
