"""Commands that start another one, which is everything after ``--``."""

from typing import Any

import typer

from mcp_bindgen.cli.help import PlainCommand

_KEY = "mcp_bindgen.command"


class StartsCommand(PlainCommand):
    """A command that separates the words after the first ``--`` from its own arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before the first ``--``."""
        place = args.index("--") if "--" in args else len(args)
        ctx.meta[_KEY] = tuple(args[place + 1 :])
        return super().parse_args(ctx, args[:place])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line."""
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def words_behind(context: typer.Context) -> tuple[str, ...]:
    """Return the words after ``--``, if any."""
    found: tuple[str, ...] = context.meta.get(_KEY, ())
    return found
