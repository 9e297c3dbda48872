"""The layout of help, and `mcp-bindgen docs`: the installed documentation.

Commands are grouped by task, with an example and a page of the documentation; some take a command after ``--``.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer import Typer
from typer.core import TyperCommand, TyperGroup

from mcp_bindgen.cli.options import expanded
from mcp_bindgen.cli.output import answer, answer_markdown, table
from mcp_bindgen.ingest.paths import shipped
from mcp_bindgen.ingest.sources import is_url
from mcp_bindgen.ir.diagnostics import InputError, did_you_mean

_LABEL_WIDTH = 10


def more(example: str, page: str) -> str:
    """Return the end of a help page: a command line, and one that shows a page of the documentation (``docs/X.md``)."""
    return f"\b\nExample:  {example}\nSee also: mcp-bindgen docs {page_name(page)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The commands that serve one task.

    Attributes:
        app: where the commands belong.
        prefix: the words in front of the name of each command.
        title: what the help of the whole tool calls the task; without one the group is not divided by tasks.
    """

    app: Typer
    prefix: str = "mcp-bindgen"
    title: str | None = None

    def add(self, function: Callable[..., None], summary: str, example: str, page: str, **options: Any) -> None:
        """Add a command.

        Args:
            function: what it does.
            summary: its line in the help of the whole tool.
            example: its name and arguments, as somebody types them.
            page: a page of the documentation, as a path in the repository.
            options: further options of `Typer.command`.
        """
        end = more(f"{self.prefix} {example}", page)
        name = example.split(maxsplit=1)[0]
        options.setdefault("cls", PlainCommand)
        add = self.app.command(name, short_help=summary, epilog=end, rich_help_panel=self.title, **options)
        add(expanded(function))


class PlainCommand(TyperCommand):
    """A command whose help names arguments as they are typed, without the types of its Python function."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; an error names the choice that was meant."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            given, *choices = re.findall("'([^']*)'", error.message) or [""]
            if choices and (hint := did_you_mean(given, choices, 1)):
                error.message = f"{error.message} {hint.capitalize()}"
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line."""
        return ["[OPTIONS]", *(_usage(param) for param in self._arguments(ctx))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and then the options."""
        if arguments := self._arguments(ctx):
            with formatter.section("Arguments"):
                formatter.write_dl([(param.metavar, param.help or "") for param in arguments])
        records = (param.get_help_record(ctx) for param in self.get_params(ctx) if param.param_type_name == "option")
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])

    def _arguments(self, ctx: Any) -> list[Any]:
        return [param for param in self.get_params(ctx) if param.param_type_name == "argument"]


class CommandGroup(TyperGroup):
    """A group of commands whose help fits a screen: a line for each command, and one for all options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, with the task of each group in front, and then the options."""
        formatter.write_paragraph()
        for line in self._commands(ctx):
            formatter.write(f"{line}\n")
        options = (max(param.opts, key=len) for param in self.get_params(ctx))
        formatter.write(f"  {'Options':{_LABEL_WIDTH}}{', '.join(options)}\n")

    def _commands(self, ctx: Any) -> Iterator[str]:
        found: list[Any] = [self.get_command(ctx, name) for name in self.list_commands(ctx)]
        width = max(len(command.name) for command in found) + 2
        tasks = list(dict.fromkeys(command.rich_help_panel for command in found))
        found.sort(key=lambda command: tasks.index(command.rich_help_panel))  # groups of commands are listed last
        for title, commands in groupby(found, key=lambda command: command.rich_help_panel):
            for number, command in enumerate(commands):
                label = "" if number else title or "Commands"
                yield f"  {label:{_LABEL_WIDTH}}{command.name:{width}}{command.short_help}"


def _usage(argument: Any) -> str:
    spelled: str = argument.metavar
    return spelled if argument.required else f"[{spelled}]"


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


def one_server(context: typer.Context, url: str | None, command: str) -> tuple[str, ...]:
    """Return the words after ``--``, if there are some or a URL.

    Raises:
        InputError: there are both or neither, or the URL is not one.
    """
    words = words_behind(context)
    if bool(words) is (url is not None):
        raise InputError.at(command, f"give one server: a URL, or a command after -- ({command} -- COMMAND...)")
    if url is not None and not is_url(url):
        raise InputError.at(url, f"is not a URL; give a command after -- ({command} -- COMMAND...)")
    return words


_COMMENT: Final = re.compile(r"^<!--.*?-->\n+", re.MULTILINE | re.DOTALL)
"""A comment for whoever maintains a page, such as the words that its search finds it by."""


def page_name(path: str) -> str:
    """Return the name of a page: ``docs/start/server.md`` is ``start/server``."""
    return path.removeprefix("docs/").removesuffix(".md")


def complete_page(incomplete: str) -> list[str]:
    """Complete the name of a page for the shell."""
    return [name for name in _pages() if name.startswith(incomplete)]


def docs(
    page: Annotated[
        str | None,
        typer.Argument(metavar="PAGE", help="A page; by default, the list of pages.", autocompletion=complete_page),
    ] = None,
) -> None:
    """Show a page of the documentation, formatted on a terminal and as Markdown elsewhere."""
    pages = _pages()
    if page is None:
        answer(table(("page", "title"), ((name, _title(path)) for name, path in pages.items())))
        return
    name = page_name(page)
    if name not in pages:
        hint = did_you_mean(name, pages) or "`mcp-bindgen docs` lists the pages"
        raise InputError.at(page, f"no such page; {hint}")
    answer_markdown(_COMMENT.sub("", pages[name].read_text("utf-8")))


def _pages() -> dict[str, Path]:
    folder = shipped("docs")
    return {page_name(path.relative_to(folder).as_posix()): path for path in sorted(folder.rglob("*.md"))}


def _title(path: Path) -> str:
    lines = path.read_text("utf-8").splitlines()
    return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), "")
