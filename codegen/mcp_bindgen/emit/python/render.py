"""Render pages through the templates, and format them."""

import re
import signal
import textwrap
import threading
from base64 import b64encode
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Any

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    FunctionLoader,
    PrefixLoader,
    StrictUndefined,
    TemplateSyntaxError,
    pass_context,
)
from jinja2.runtime import Context
from markupsafe import Markup

from mcp_bindgen.emit.header import commented
from mcp_bindgen.emit.python.expressions import Expression
from mcp_bindgen.emit.python.scope import Scope
from mcp_bindgen.ingest.paths import shipped
from mcp_bindgen.ir.diagnostics import InputError, Location, printable, refuse_os_errors

WIDTH = 110

_QUOTES = re.compile(r'"{3,}')
_LAST_QUOTES = re.compile(r'"{3,}|"\Z')


def docstring(paragraphs: str, indent: int = 0) -> str:
    """Return documentation as the content of a docstring that is indented by so many spaces.

    The content cannot end the docstring early. If it has several lines, the closing quotes are on a separate line.
    """
    lines = _wrapped(printable(paragraphs.strip()), WIDTH - indent) or [""]
    escaped = [_without_quotes(line, _QUOTES) for line in lines[:-1]] + [_without_quotes(lines[-1], _LAST_QUOTES)]
    if len(escaped) == 1:
        return escaped[0]
    margin = " " * indent
    rest = [f"{margin}{line}" if line else "" for line in escaped[1:]]
    return "\n".join([escaped[0], *rest, margin])


def comment(value: object) -> str:
    """Return a value as the text of a comment, which it cannot end."""
    return printable(str(value)).replace("\n", "\\n")


def summary(paragraphs: str) -> str:
    """Return the first paragraph of documentation on one line."""
    return " ".join(paragraphs.strip().partition("\n\n")[0].split())


def _without_quotes(line: str, quotes: re.Pattern[str]) -> str:
    return quotes.sub(lambda found: '\\"' * len(found[0]), line.replace("\\", "\\\\"))


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap lines that are too long; others stay unchanged, and continuation lines of list items are indented."""
    wrapped: list[str] = []
    for line in text.splitlines():
        if len(line) <= width:
            wrapped.append(line.rstrip())
            continue
        lead = line[: len(line) - len(line.lstrip())]
        folded = textwrap.wrap(
            line.strip(),
            width,
            initial_indent=lead,
            subsequent_indent=f"{lead}    " if lead else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        wrapped += folded or [""]
    return wrapped


class TimeIsUp(Exception):
    """The work did not end in time."""


@contextmanager
def limited_time(seconds: float) -> Generator[None]:
    """Raise `TimeIsUp` once the process has used so many seconds of CPU time.

    It needs signals: POSIX, and the main thread. Elsewhere there is no limit.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    # The virtual timer (CPU time), so that a real-time timer of other code is not replaced.
    before = signal.signal(signal.SIGVTALRM, expire)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


LINE_LENGTH = 120
MAX_BYTES = 1_000_000
"""The maximum size of a template, in bytes."""
FOLDER = "python"
"""The folder of the shipped templates, below ``templates``."""
SHIPPED = "shipped"
"""The prefix by which a user's template includes the one that it replaces: ``shipped/class.py.j2``."""
MAX_SECONDS = 60
"""The CPU time that the templates of one page may use, in seconds."""
MAX_LENGTH = 64 * 1024 * 1024
"""The maximum length of a page, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One generated file: its path, its template, the template's context, and its imports.

    `is_formatted` is false for a module that is too large for people to read and for black to format.
    """

    path: str
    template: str
    context: Mapping[str, object]
    bound: frozenset[str] = frozenset()
    reaches_models: bool = False
    is_formatted: bool = True


class Templates:
    """The shipped templates, and the user's templates that replace them.

    Args:
        folder: a folder with the user's templates, which replace the shipped ones of the same name.
        extra: more templates of the user, which do not replace any; they may include those in the folder, and ours.
        shelf: the folder of the shipped templates; outside that of Python, the output of ``.html.j2`` is escaped.

    Raises:
        InputError: a file in the folder does not have the name of a shipped template.
    """

    def __init__(self, folder: Path | None = None, extra: Collection[Path] = (), shelf: str = FOLDER) -> None:
        ours = shipped("templates") / shelf
        self._folders = [folder, ours] if folder else [ours]
        self._extra = {str(path) for path in extra}
        if folder:
            own = {path.name for path in extra if path.parent.resolve() == folder.resolve()}
            _refuse_unknown(folder, own, {path.name for path in ours.iterdir()})
        self._environment = Environment(
            loader=ChoiceLoader(
                [
                    FunctionLoader(self._load),
                    *map(FileSystemLoader, self._folders),
                    PrefixLoader({SHIPPED: FileSystemLoader(ours)}),
                ]
            ),
            auto_reload=False,
            undefined=StrictUndefined,
            finalize=_printed if shelf == FOLDER else _escaped,
            autoescape=shelf != FOLDER and _is_html,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        filters: Any = self._environment.filters
        filters.update(comment=comment, docstring=docstring, summary=summary, join=_join, repr=_repr)

    def render(self, pages: Iterable[Page], header: Sequence[str]) -> dict[str, str]:
        """Render pages to text by path: the header as a comment, then the output of their templates.

        Python is formatted.

        Raises:
            InputError: a template cannot be rendered, or its output is not valid Python.
        """
        return {page.path: self._page(page, header) for page in pages}

    def _page(self, page: Page, header: Sequence[str]) -> str:
        text = commented(header, page.path) + self._text(page)
        is_source = page.is_formatted and page.path.endswith((".py", ".pyi"))
        return format_source(text, self._place(page.template)) if is_source else text

    def _text(self, page: Page) -> str:
        scope = Scope(page.bound, reaches_models=page.reaches_models)
        names = {"use": scope.use, "imports": scope.imports, "siblings": scope.siblings, "scope": scope}
        chunks: list[str] = []
        length = 0
        try:
            with limited_time(MAX_SECONDS):
                for chunk in self._environment.get_template(page.template).generate(**page.context, **names):
                    chunks.append(chunk)
                    length += len(chunk)
                    if length > MAX_LENGTH:
                        break
        except Exception as error:  # An expression in a user's template may raise any exception.
            raise InputError.at(self._culprit(error, page), _said(error)) from None
        if length > MAX_LENGTH:
            message = f"{page.path}: longer than {MAX_LENGTH} characters; is there an endless loop?"
            raise InputError.at(self._place(page.template), message)
        return "".join(chunks)

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        """Load a user's template by path."""
        return (Path(name).read_text("utf-8"), name, lambda: True) if name in self._extra else None

    def _place(self, template: str, line: int | None = None) -> Location:
        """Return the file of a template."""
        found = next((folder / template for folder in self._folders if (folder / template).is_file()), Path(template))
        return Location(source=str(found), line=line)

    def _culprit(self, error: Exception, page: Page) -> Location:
        """Return the line of the template in which rendering failed."""
        if isinstance(error, TemplateSyntaxError):
            return self._place(error.name or page.template, error.lineno)
        place, trace = self._place(page.template), error.__traceback__
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            if name in self._extra or any(Path(name).is_relative_to(folder) for folder in self._folders):
                place = Location(source=name, line=trace.tb_lineno)
            trace = trace.tb_next
        return place


def _refuse_unknown(folder: Path, own: set[str], known: set[str]) -> None:
    for path in sorted(folder.iterdir()):
        if path.name not in known | own and not path.name.startswith("."):
            names = ", ".join(sorted(known))
            raise InputError.at(path, f"not the name of a template; the templates are {names}")
        with refuse_os_errors(path):
            if path.name in known and not path.is_file():
                raise InputError.at(path, "not a regular file")
            if path.name in known and path.stat().st_size > MAX_BYTES:
                raise InputError.at(path, f"larger than {MAX_BYTES:,} bytes, the maximum size of a template")


def _said(error: Exception) -> str:
    if isinstance(error, TimeIsUp):
        return f"still rendering after {MAX_SECONDS} seconds; is there an endless loop?"
    return f"{type(error).__name__}: {error}"


def _is_html(template: str | None) -> bool:
    return ".html." in (template or "")


def _escaped(value: object) -> object:
    """Replace control and bidirectional characters in what a template of a document prints."""
    return printable(value) if type(value) is str else value


@pass_context
def _printed(context: Context, value: object) -> object:
    """Convert what a template prints to text; an expression records its imports."""
    if not isinstance(value, Expression):
        return value
    scope = context["scope"]
    return scope.spell(value) if isinstance(scope, Scope) else str(value)


@pass_context
def _repr(context: Context, value: object) -> str:
    """The filter `repr`: a value as Python source, an expression as a string literal."""
    return repr(_printed(context, value))


@pass_context
def _join(context: Context, values: Iterable[object], separator: str = "", attribute: str = "") -> str:
    """The filter `join`: Jinja's filter, extended to expressions."""
    found = (getattr(value, attribute) if attribute else value for value in values)
    return separator.join(str(_printed(context, value)) for value in found)


def document(template: str, context: Mapping[str, object]) -> str:
    """Return the text of a report, by its template."""
    page = Page(path="", template=template, context=context)
    return Templates(shelf="report").render([page], ())[page.path]


def inlined(templates: Templates, style: str, script: str) -> dict[str, object]:
    """Return the style sheet and the script of a page, and the Content-Security-Policy that admits only these two."""
    texts = [templates.render([Page(path="", template=name, context={})], ())[""] for name in (style, script)]
    sources = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'" for text in texts]
    policy = f"default-src 'none'; style-src {sources[0]}; script-src {sources[1]}"
    return {"policy": policy, **dict(zip(("style", "script"), map(Markup, texts), strict=True))}


def format_source(text: str, where: Location) -> str:
    """Format source text like every generated file.

    Raises:
        InputError: it is not valid Python.
    """
    from black import Mode, format_str
    from black.mode import TargetVersion
    from black.parsing import InvalidInput

    try:
        return format_str(text, mode=Mode(target_versions={TargetVersion.PY311}, line_length=LINE_LENGTH))
    except InvalidInput as error:
        raise InputError.at(where, f"its output is not valid Python: {error}") from None
