"""Commands that start another one: what stands behind ``--`` is that command, whatever it looks like."""

from typing import Any

import typer
from typer.core import TyperCommand

_KEY = "mcp_bindgen.command"


class StartsCommand(TyperCommand):
    """A command that keeps the words behind the first ``--`` apart from its own arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before the first ``--``."""
        place = args.index("--") if "--" in args else len(args)
        ctx.meta[_KEY] = tuple(args[place + 1 :])
        return super().parse_args(ctx, args[:place])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the line on usage."""
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def words_behind(context: typer.Context) -> tuple[str, ...]:
    """Return the words behind ``--``; none if there is none."""
    found: tuple[str, ...] = context.meta.get(_KEY, ())
    return found
