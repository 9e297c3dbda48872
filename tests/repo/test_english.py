"""Prose is plain technical English: phrases that made readers stumble stay out of code, tests, help and documents."""

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROSE = (".py", ".md", ".j2", ".toml", ".html", ".js", ".sh", ".yaml", ".yml")
"""Suffixes of the files that contain prose."""
MIN_WORDS = 3
"""A string literal with fewer words than this is not prose."""

COMMENTS = re.compile(r"(?:^[ \t]*#[^\n]*\n?)+|(?<=[^\n]  )# [^\n]*", re.MULTILINE)
"""The comments of a Python file: lines of their own that follow each other, or the end of one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A phrase to avoid: a regular expression, the reason, and what to write instead.

    The expression ignores case, and a space in it matches a line break too.
    """

    pattern: str
    reason: str
    instead: str

    def regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern.replace(" ", r"\s+"), re.IGNORECASE | re.MULTILINE)


PROGRAM = "(?:application|client|handler|host|middleware|peer|process|program|proxy|server|transport|worker)s?"
PHRASES = (
    Phrase(pattern=r"\b(?-i:shall)\b", reason="legal language", instead="must, will"),
    Phrase(pattern=r"\blest\b", reason="archaic", instead="so that ... does not"),
    Phrase(pattern=r"\bfor ever\b", reason="old spelling", instead="forever, indefinitely"),
    Phrase(pattern=r"\banew\b", reason="literary", instead="again, newly"),
    Phrase(pattern=r"\bof one's own\b", reason="translated", instead="custom, your own"),
    Phrase(pattern=r"(?<!there\s)\b(?:is|are|was|were) no (?!longer|more)\w", reason="translated", instead="is not a"),
    Phrase(pattern=r"\bstands? in (?:a|the|its|no)\b", reason="translated", instead="is in, is part of"),
    Phrase(pattern=r"\bin vain\b", reason="literary", instead="without success"),
    Phrase(pattern=r"\blook(?:s|ed)? whether\b", reason="translated", instead="check whether"),
    Phrase(pattern=r"\bnothing of the kind\b", reason="a riddle out of context", instead="name what is missing"),
    Phrase(
        pattern=r"\bknows? no(?:thing)? (?:more )?\w", reason="code does not know", instead="has no, does not support"
    ),
    Phrase(pattern=r"\bha(?:s|ve) no say\b", reason="code does not speak", instead="does not affect"),
    Phrase(pattern=r"\b(?:is|are) (?:not |never )?heard\b", reason="programs do not hear", instead="received, handled"),
    Phrase(pattern=r"\btime limits?\b", reason="not in the glossary", instead="timeout"),
    Phrase(pattern=r"\bgive(?:s|n)? up (?:a|the|its) (?:call|request)", reason="not in the glossary", instead="cancel"),
    Phrase(pattern=rf"\b{PROGRAM} who\b", reason="a program is a thing", instead="that, which"),
    Phrase(
        pattern=r"(?:^|[.:;] )(?-i:Who)(?:ever)? \w+s\b(?![^.\n]*\?)",
        reason="a sentence without its subject",
        instead="name it",
    ),
    Phrase(
        pattern=r"\b(?:that|those|he|they) (?:which|who) \w+ \w+ is\b", reason="a riddle", instead="name the subject"
    ),
    Phrase(pattern=r"\bmade anew\b|\bonce more\b", reason="literary", instead="again"),
    Phrase(pattern=r"\bhas it that\b|\bas .{1,20} has it\b", reason="literary", instead="according to"),
    Phrase(pattern=r"\bof no consequence\b", reason="literary", instead="harmless, without effect"),
    Phrase(pattern=r"\bwhom\b", reason="formal", instead="name the program or the person"),
    Phrase(pattern=r"; else\b(?! if)", reason="translated", instead="otherwise"),
    Phrase(pattern=r"\b(?:in a circle|circles? of)\b", reason="not the technical word", instead="cycle"),
    Phrase(pattern=r"\bbreaks? nobody\b", reason="a program is a thing", instead="breaks no peer"),
    Phrase(pattern=r"\bif there is none\b", reason="repeated everywhere", instead="or None, may be empty, without one"),
    Phrase(
        pattern=r"\b(?:pass|give|objects?) (?:an )?objects? of (?:it|an?)\b", reason="translated", instead="instance"
    ),
    Phrase(pattern=r"\bobjects? of a generated\b", reason="translated", instead="an instance of a generated"),
    Phrase(pattern=r"\bkeeps? to it\b", reason="translated", instead="follow it, stay within it"),
    Phrase(pattern=r"\bdefines no\b", reason="translated", instead="no ... found"),
    Phrase(pattern=r"\b(?:questions? is put|puts? (?:a|the) questions?)\b", reason="translated", instead="ask"),
    Phrase(pattern=r"\b(?:therein|thereof|wherein)\b", reason="legal language", instead="in it, of it, in which"),
)
"""A short list: the worst phrases, each with the wording that replaced it."""
ANY_PHRASE = re.compile("|".join(phrase.regex().pattern for phrase in PHRASES), re.IGNORECASE | re.MULTILINE)

PRODUCT = ("codegen/mcp_bindgen/", "runtime/mcp_runtime/", "templates/", "schema/", "docs/")
"""Folders whose prose is read by users."""

BUILT = ("build", "dist")
"""Folders that commands fill."""

EXCEPTIONS: dict[tuple[str, str], str] = {}
"""File and pattern, and why the phrase may stay."""
THIS_FILE = "tests/repo/test_english.py"


@pytest.mark.parametrize("folder", PRODUCT)
def test_no_prose_of_the_product_contains_a_listed_phrase(folder: str) -> None:
    assert reported(hits(lambda path: path.startswith(folder))) == []


@pytest.mark.slow
def test_no_other_prose_contains_a_listed_phrase() -> None:
    assert reported(hits(lambda path: not path.startswith(PRODUCT))) == []


def test_no_exception_is_stale() -> None:
    files = {path for path, _ in EXCEPTIONS}
    found = hits(files.__contains__) if files else []
    used = {(path, phrase.pattern) for path, _, _, phrase in found}
    assert EXCEPTIONS.keys() - used == set()


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "# It shall\n#   not pass.", ["1 shall"]),
        ("a.py", '"""It\nshall pass."""', ["2 shall"]),
        ("a.py", 'print(f"{x} shall pass " "now")', ["1 shall"]),
        ("a.py", "def test_it_shall_pass() -> None: ...", ["1 shall"]),
        ("a.py", "# is\n# no object", ["1 is no o"]),
        ("a.py", "shall = 'shall'  # one word is not prose", []),
        ("a.md", "It shall\n```\nshall\n```\npass, but `shall` may stay.", ["1 shall"]),
        ("a.md", "A client\nwho asks.", ["1 client who"]),
    ],
)
def test_a_planted_phrase_is_found(path: str, text: str, expected: list[str]) -> None:
    assert [f"{line} {match}" for line, match, _ in matches(path, text)] == expected


def reported(found: list[tuple[str, int, str, Phrase]]) -> list[str]:
    return [
        f"{path}:{line}: {text!r} ({phrase.reason}); write: {phrase.instead}"
        for path, line, text, phrase in found
        if (path, phrase.pattern) not in EXCEPTIONS
    ]


def hits(chosen: Callable[[str], bool]) -> list[tuple[str, int, str, Phrase]]:
    """Return each listed phrase in the chosen files of the project: path, line, text, phrase."""
    paths = [path for path in _files() if path.endswith(PROSE) and path != THIS_FILE and chosen(path)]
    assert paths
    texts = {path: (ROOT / path).read_text("utf-8") for path in paths}
    return [(path, *match) for path, text in texts.items() for match in matches(path, text)]


def _files() -> list[str]:
    """Return the paths of the files that git tracks; outside a clone, of those in its folders."""
    if (ROOT / ".git").exists():
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        # A file that git tracks may have been deleted in the working tree.
        return [path for path in listing.split("\0") if (ROOT / path).is_file()]
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [path.as_posix() for path in found if not path.parts[0].startswith(".") and path.parts[0] not in BUILT]


def matches(path: str, text: str) -> Iterator[tuple[int, str, Phrase]]:
    """Iterate over the listed phrases in a file's prose."""
    for line, prose in passages(path, text):
        if not ANY_PHRASE.search(prose):
            continue
        for phrase in PHRASES:
            for match in phrase.regex().finditer(prose):
                yield line + prose[: match.start()].count("\n"), " ".join(match[0].split()), phrase


def passages(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Iterate over passages of prose with the lines they begin at."""
    if path.endswith(".py"):
        yield from _python_passages(text)
    elif path.endswith(".md"):
        # Code is blanked, not removed, so that line numbers stay right.
        code = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
        yield 1, code.sub(lambda match: re.sub(r"[^\n]", "`", match[0]), text)
    else:
        yield 1, text


def _python_passages(text: str) -> Iterator[tuple[int, str]]:
    for match in COMMENTS.finditer(text):
        yield 1 + text[: match.start()].count("\n"), re.sub(r"^[ \t]*#:? ?", "", match[0], flags=re.MULTILINE)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) >= MIN_WORDS:
            yield node.lineno, node.value
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name.strip("_").replace("_", " ")
