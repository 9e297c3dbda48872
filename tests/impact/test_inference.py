"""The Python constructs that `impact` understands: exactly the affected lines are found."""

from pathlib import Path

import pytest

from impact.corpus_marks import changes
from mcp_bindgen.impact.checkers import CHECKERS, DEFAULT
from mcp_bindgen.impact.report import Impact
from mcp_bindgen.impact.run import impact
from mcp_bindgen.impact.stubs import Stubs
from mcp_bindgen.ir.diagnostics import Diagnostics

OLD, NEW = "2025-11-25", "2026-07-28"
PACKAGE = "mcp_bindings.v2025_11_25"
HEAD = f"from {PACKAGE} import CallToolResult, Client, Server, TextContent, Tool\nimport {PACKAGE} as m\n"


def scanned(folder: Path, files: dict[str, str]) -> Impact:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return impact(Stubs(changes(OLD, NEW)), [folder], [PACKAGE], CHECKERS[DEFAULT], Diagnostics())


def all_scanned(folder: Path, constructs: dict[str, str]) -> dict[str, tuple[list[str], list[str]]]:
    """Return the affected lines and the unresolved names of each construct; all are checked in one run."""
    files = {f"c{number}.py": HEAD + code for number, code in enumerate(constructs.values())}
    found = scanned(folder, files)
    answers: dict[str, tuple[list[str], list[str]]] = {}
    for name, file in zip(constructs, files, strict=True):
        spots = sorted({t.spot.line for t in found.touched if t.spot.path.name == file})
        lines = found.lines_of[folder / file]
        names = [unresolved.name for unresolved in found.unresolved if unresolved.spot.path.name == file]
        answers[name] = ([lines[number - 1].strip() for number in spots], names)
    return answers


def touched(folder: Path, files: dict[str, str]) -> list[str]:
    """Return the affected lines of code, in order."""
    found = scanned(folder, files)
    spots = {(t.spot.path, t.spot.line): t.spot for t in found.touched}
    return [found.code(spots[place]) for place in sorted(spots)]


READS = {
    "a parameter": "def f(t: Tool):\n    print(t.name)\n    HIT(t.execution)",
    "an annotation in quotes": 'def f(t: "Tool | None"):\n    HIT(t.execution)',
    "a variable": "t = Tool(name='x', input_schema=m.ToolInputSchema())\nHIT(t.execution)",
    "an alias of the class": "T = Tool\ndef f(t: T):\n    HIT(t.execution)",
    "an annotated variable": "t: Tool = make()\nHIT(t.execution)",
    "Optional": "from typing import Optional\ndef f(t: Optional[Tool]):\n    HIT(t and t.execution)",
    "a list": "def f(ts: list[Tool]):\n    for t in ts:\n        HIT(t.execution)",
    "an index": "def f(ts: list[Tool]):\n    HIT(ts[0].execution)",
    "a slice": "def f(ts: list[Tool]):\n    for t in ts[1:]:\n        HIT(t.execution)",
    "a dict": "def f(ts: dict[str, Tool]):\n    for name, t in ts.items():\n        HIT(t.execution)",
    "get of a dict": "def f(ts: dict[str, Tool]):\n    if (t := ts.get('x')) is not None:\n        HIT(t.execution)",
    "a tuple": "def f(pair: tuple[str, Tool]):\n    name, t = pair\n    HIT(t.execution)",
    "unpacking of a rest": "def f(ts: list[Tool]):\n    first, *rest = ts\n    for t in rest:\n"
    "        HIT(t.execution)",
    "enumerate": "def f(ts: list[Tool]):\n    for i, t in enumerate(ts):\n        HIT(t.execution)",
    "zip": "def f(ts: list[Tool], names: list[str]):\n    for n, t in zip(names, ts):\n        HIT(t.execution)",
    "sorted by a lambda": "def f(ts: list[Tool]):\n    HIT(sorted(ts, key=lambda t: str(t.execution)))",
    "a comprehension": "def f(ts: list[Tool]):\n    HIT([t.execution for t in ts if t.name])",
    "a dict comprehension": "def f(ts: list[Tool]):\n    HIT({t.name: t.execution for t in ts})",
    "next of a generator": "def f(ts: list[Tool]):\n    t = next(t for t in ts if t.name)\n    HIT(t.execution)",
    "a result": "async def f(c: Client):\n    r = await c.list_tools()\n    HIT(r.tools[0].execution)",
    "async for": "async def f(c: Client):\n    async for t in c.iter_tools():\n        HIT(t.execution)",
    "an async comprehension": "async def f(c: Client):\n    HIT([t.execution async for t in c.iter_tools()])",
    "gather": "import asyncio\nasync def f(c: Client):\n"
    "    a, b = await asyncio.gather(c.list_tools(), c.list_prompts())\n"
    "    HIT(a.tools[0].execution)",
    "a task": "import asyncio\nasync def f(c: Client):\n    t = asyncio.create_task(c.list_tools())\n"
    "    HIT((await t).tools[0].execution)",
    "wait_for": "import asyncio\nasync def f(c: Client):\n    r = await asyncio.wait_for(c.list_tools(), 1)\n"
    "    HIT(r.tools[0].execution)",
    "an attribute": "class A:\n    def __init__(self):\n"
    "        self.t = Tool(name='x', input_schema=m.ToolInputSchema())\n"
    "    def f(self):\n        HIT(self.t.execution)",
    "an attribute that was declared": "class A:\n    t: Tool\n    def f(self):\n        HIT(self.t.execution)",
    "a dict in an attribute": "class A:\n    def __init__(self):\n        self.ts = {}\n    def add(self, t: Tool):\n"
    "        self.ts[t.name] = t\n    def f(self):\n        for t in self.ts.values():\n            HIT(t.execution)",
    "a list that grows": "def f(t: Tool):\n    ts = []\n    ts.append(t)\n    HIT(ts[0].execution)",
    "a function without annotations": "def make():\n    return Tool(name='x', input_schema=m.ToolInputSchema())\n"
    "def f():\n    HIT(make().execution)",
    "a parameter without annotation": "def show(t):\n    HIT(t.execution)\ndef f(t: Tool):\n    show(t)",
    "a property": "class A:\n    @property\n    def tool(self) -> Tool: ...\ndef f(a: A):\n    HIT(a.tool.execution)",
    "a subclass": "class Mine(Tool):\n    pass\ndef f(t: Mine):\n    HIT(t.execution)",
    "isinstance": "def f(t: object):\n    if isinstance(t, Tool):\n        HIT(t.execution)",
    "isinstance and": "def f(t: object):\n    HIT(isinstance(t, Tool) and t.execution)",
    "isinstance the other way": "def f(t: Tool | str):\n    if isinstance(t, str):\n        return\n"
    "    HIT(t.execution)",
    "match": "def f(t: object):\n    match t:\n        case Tool() as found:\n            HIT(found.execution)",
    "a pattern": "def f(t: object):\n    match t:\n        case HIT_Tool(execution=e):\n            print(e)",
    "a sequence pattern": "def f(ts: list[Tool]):\n    match ts:\n        case [t, *_]:\n            HIT(t.execution)",
    "getattr": "def f(t: Tool):\n    HIT(getattr(t, 'execution'))",
    "an assignment": "def f(t: Tool):\n    t.execution = None  # HIT",
    "model_validate": "def f(d):\n    HIT(Tool.model_validate(d).execution)",
    "model_validate of a display": "t = Tool.model_validate({'name': 'x', 'inputSchema': {}, 'execution': {}})  # HIT",
    "model_copy": "def f(t: Tool):\n    HIT(t.model_copy().execution)",
    "deepcopy": "import copy\ndef f(t: Tool):\n    HIT(copy.deepcopy(t).execution)",
    "cast": "from typing import cast\ndef f(t):\n    HIT(cast(Tool, t).execution)",
    "a wire name": "t = Tool(name='x', inputSchema={}, execution=None)  # HIT",
    "a conditional expression": "def f(a: Tool, b: Tool):\n    HIT((a if a.name else b).execution)",
    "a context manager": "from contextlib import contextmanager\n@contextmanager\ndef opened():\n"
    "    yield Tool(name='x', input_schema=m.ToolInputSchema())\n"
    "def f():\n    with opened() as t:\n        HIT(t.execution)",
    "a custom context manager": "class A:\n    def __enter__(self) -> Tool: ...\n    def __exit__(self, *a): ...\n"
    "def f():\n    with A() as t:\n        HIT(t.execution)",
    "a client that opens": "async def f(peer):\n    c = await Client.open(peer)\n    r = await c.list_tools()\n"
    "    HIT(r.tools[0].execution)",
    "a handler without annotations": "class S(Server):\n    async def call_tool(self, params, ctx):\n"
    "        HIT(params.task)",
    "an f-string": "def f(t: Tool):\n    HIT(f'{t.execution!r}')",
    "a lambda": "f = lambda: None\ndef g(t: Tool):\n    HIT((lambda: t.execution)())",
    "a closure": "def f(t: Tool):\n    def inner():\n        HIT(t.execution)\n    return inner",
    "a type of a class": "def f(cls: type[Tool]):\n    HIT(cls.model_validate({}).execution)",
    "Self": "from typing import Self\nclass Mine(Tool):\n    def me(self) -> Self: ...\n"
    "def f(t: Mine):\n    HIT(t.me().execution)",
    "a callable": "from collections.abc import Callable\ndef f(make: Callable[[], Tool]):\n    HIT(make().execution)",
    "a subscript of the user's": (
        "class C:\n    def __init__(self):\n        self.ts: list[Tool] = []\n"
        "    def __getitem__(self, i):\n        return self.ts[i]\ndef f(c: C):\n"
        "    HIT(c[0].execution)"
    ),
    "a loop over an object of the user's": (
        "class C:\n    def __iter__(self):\n"
        "        yield Tool(name='x', input_schema=m.ToolInputSchema())\ndef f(c: C):\n"
        "    for t in c:\n        HIT(t.execution)"
    ),
    "an async loop over an object of the user's": (
        "from collections.abc import AsyncIterator\nclass C:\n"
        "    def __aiter__(self) -> AsyncIterator[Tool]: ...\nasync def f(c: C):\n"
        "    async for t in c:\n        HIT(t.execution)"
    ),
    "an iterator of the user's": (
        "class C:\n    def __iter__(self): return self\n    def __next__(self) -> Tool: ...\n"
        "def f(c: C):\n    for t in c:\n        HIT(t.execution)\n"
    ),
    "an object that is called": "class C:\n    def __call__(self) -> Tool: ...\ndef f(c: C):\n    HIT(c().execution)",
    "an operator of the user's": (
        "class C:\n    def __add__(self, o) -> Tool: ...\ndef f(c: C):\n    HIT((c + c).execution)"
    ),
    "a unary operator of the user's": (
        "class C:\n    def __neg__(self) -> Tool: ...\ndef f(c: C):\n    HIT((-c).execution)"
    ),
    "a TypedDict": (
        "from typing import TypedDict\nclass D(TypedDict):\n    t: Tool\ndef f(d: D):\n" "    HIT(d['t'].execution)"
    ),
    "a NamedTuple that is unpacked": (
        "from typing import NamedTuple\nclass D(NamedTuple):\n    n: str\n    t: Tool\ndef f(d: D):\n"
        "    n, t = d\n    HIT(t.execution)\n"
    ),
    "an index of a NamedTuple": (
        "from typing import NamedTuple\nclass D(NamedTuple):\n    n: str\n    t: Tool\ndef f(d: D):\n"
        "    HIT(d[1].execution)"
    ),
    "a TypeGuard": (
        "from typing import TypeGuard\ndef is_tool(x: object) -> TypeGuard[Tool]: ...\n"
        "def f(x: object):\n    if is_tool(x):\n        HIT(x.execution)"
    ),
    "a descriptor": (
        "class D:\n    def __get__(self, o, t=None) -> Tool: ...\nclass C:\n    t = D()\n"
        "def f(c: C):\n    HIT(c.t.execution)"
    ),
    "a queue with an annotation": (
        "import asyncio\nq: asyncio.Queue[Tool] = asyncio.Queue()\nasync def f():\n"
        "    t = await q.get()\n    HIT(t.execution)"
    ),
    "a context variable": (
        "from contextvars import ContextVar\nv: ContextVar[Tool] = ContextVar('v')\ndef f():\n"
        "    HIT(v.get().execution)"
    ),
}
"""A construct, and code in which only the lines with HIT are touched."""


UNTYPED = {
    "a dict in an attribute",
    "a function without annotations",
    "a parameter without annotation",
    "a context manager",
    "a handler without annotations",
    "a subscript of the user's",
    "a loop over an object of the user's",
    "an iterator of the user's",
}
"""Constructs without annotations, whose lines ty cannot decide on: they are unresolved, not dropped."""


def test_it_follows_values_through_constructs(tmp_path: Path) -> None:
    found = all_scanned(tmp_path, {name: code.replace("HIT_", "") for name, code in READS.items()})
    for name, code in READS.items():
        expected = [line.strip().replace("HIT_", "") for line in code.splitlines() if "HIT" in line]
        lines, unresolved = found[name]
        assert expected
        assert (lines, len(unresolved)) == (([], 1) if name in UNTYPED else (expected, 0)), name


FREE = {
    "another class of the same attribute": "class Task:\n    execution = 1\ndef f(t: Task):\n    print(t.execution)",
    "a keyword of another function": "print(dict(execution=1))",
    "a docstring": 'def f():\n    """See resources/subscribe."""',
    "a string that is a method only in part": "print('the resources/subscribe method', 'ping', 'initialize')",
    "narrowed away": "def f(t: Tool | m.Prompt):\n    if isinstance(t, Tool):\n        return\n    print(t.title)",
    "another property": "def f(t: Tool):\n    print(t.name, t.title, t.annotations, t.meta)",
    "a property that is passed": "m.CancelledNotificationParams(request_id=1)",
    "a method of the same name": "class A:\n    def ping(self): ...\nA().ping()",
    "an argument with a default": "TextContent(text='x')",
}


def test_it_reports_nothing_else(tmp_path: Path) -> None:
    nothing: tuple[list[str], list[str]] = ([], [])
    assert all_scanned(tmp_path, FREE) == dict.fromkeys(FREE, nothing)


USES = "def f(t: Tool):\n    print(t.execution)\n"
REEXPORTS = {
    "relative": {
        "app/__init__.py": "",
        "app/p.py": f"from {PACKAGE} import Tool",
        "app/x.py": f"from .p import Tool\n{USES}",
    },
    "from the package": {"app/__init__.py": f"from {PACKAGE} import Tool", "app/x.py": f"from . import Tool\n{USES}"},
    "from above": {
        "app/__init__.py": "",
        "app/p.py": f"from {PACKAGE} import Tool",
        "app/sub/__init__.py": "",
        "app/sub/x.py": f"from ..p import Tool\n{USES}",
    },
    "absolute": {
        "app/__init__.py": "",
        "app/p.py": f"from {PACKAGE} import Tool",
        "app/x.py": f"from app.p import Tool\n{USES}",
    },
    "by its module": {
        "p.py": f"from {PACKAGE} import Tool",
        "x.py": "import p\n" + USES.replace("t: Tool", "t: p.Tool"),
    },
    "everything": {"p.py": f"from {PACKAGE} import *", "x.py": f"from p import *\n{USES}"},
    "beside everything of many modules in a cycle": {
        **{f"p{n}.py": "".join(f"from p{m} import *\n" for m in range(12) if m != n) for n in range(12)},
        "x.py": f"from p0 import *\nfrom {PACKAGE} import Tool\n{USES}",
    },
    "twice": {
        "p.py": f"from {PACKAGE} import Tool",
        "q.py": "from p import Tool as T",
        "x.py": f"from q import T as Tool\n{USES}",
    },
    "beside a script": {"tools/p.py": f"from {PACKAGE} import Tool", "tools/x.py": f"from p import Tool\n{USES}"},
    "under a src folder": {
        "src/app/p.py": f"from {PACKAGE} import Tool",
        "src/app/__init__.py": "",
        "src/app/x.py": f"from app.p import Tool\n{USES}",
    },
    "the revision as a module": {
        "x.py": "from mcp_bindings import v2025_11_25 as p\n" + USES.replace("t: Tool", "t: p.Tool")
    },
    "the full name": {"x.py": f"import {PACKAGE}\n" + USES.replace("t: Tool", f"t: {PACKAGE}.Tool")},
    "a module of the bindings": {"x.py": f"from {PACKAGE}.tools import Tool\n{USES}"},
    "for type checkers": {
        "x.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "
        f"from {PACKAGE} import Tool\n{USES.replace('Tool', chr(34) + 'Tool' + chr(34))}"
    },
}


@pytest.mark.parametrize("way", REEXPORTS)
def test_it_finds_the_class_behind_imports(tmp_path: Path, way: str) -> None:
    assert touched(tmp_path, REEXPORTS[way]) == ["print(t.execution)"]


UNRESOLVED = {
    "a value of no known type": ("def f(t):\n    print(t.execution)", "execution"),
    "Any": ("from typing import Any\ndef f(t: Any):\n    print(t.execution)", "execution"),
    "a key of a dump": ("def f(t: Tool):\n    print(t.model_dump()['execution'])", "execution"),
    "arguments from a mapping": ("def f(d):\n    return CallToolResult(**d)", "CallToolResult"),
    "a method by a computed name": ("def f(name):\n    return m.METHODS[name]", "METHODS"),
    "an attribute by a computed name": (
        "def f(t: m.ElicitResult, name):\n    return getattr(t, name)",
        "ElicitResult, Result",
    ),
    "overloads": (
        (
            "from typing import overload\n@overload\ndef g(x: int) -> Tool: ...\n@overload\n"
            "def g(x: str) -> str: ...\ndef g(x):\n    return x\ndef f():\n    print(g(1).execution)"
        ),
        "execution",
    ),
    "a defaultdict": (
        (
            "from collections import defaultdict\ndef f(ts: list[Tool]):\n    d = defaultdict(list)\n"
            "    for t in ts:\n        d['x'].append(t)\n    for t in d['x']:\n        print(t.execution)"
        ),
        "execution",
    ),
    "a queue": (
        "import queue\nq = queue.Queue()\ndef g(t: Tool):\n    q.put(t)\ndef f():\n    print(q.get().execution)",
        "execution",
    ),
    "a queue of a function": (
        (
            "import asyncio\nasync def f(t: Tool):\n    q = asyncio.Queue()\n    await q.put(t)\n"
            "    print((await q.get()).execution)"
        ),
        "execution",
    ),
    "a deque": (
        "from collections import deque\ndef f(t: Tool):\n    d = deque()\n    d.append(t)\n    print(d[0].execution)",
        "execution",
    ),
    "collections.namedtuple": (
        (
            "from collections import namedtuple\nD = namedtuple('D', 'n t')\ndef g(t: Tool):\n"
            "    return D('x', t)\ndef f(t: Tool):\n    print(g(t).t.execution)"
        ),
        "execution",
    ),
    "a TypedDict that is called": (
        "from typing import TypedDict\nD = TypedDict('D', {'t': Tool})\ndef f(d: D):\n    print(d['t'].execution)",
        "execution",
    ),
    "a partial function": (
        "from functools import partial\ndef g(x) -> Tool: ...\ndef f():\n    print(partial(g, 1)().execution)",
        "execution",
    ),
    "reduce": (
        "from functools import reduce\ndef f(ts: list[Tool]):\n    print(reduce(lambda a, b: a, ts).execution)",
        "execution",
    ),
    "chain": (
        "from itertools import chain\ndef f(ts: list[Tool]):\n    for t in chain(ts, ts):\n        print(t.execution)",
        "execution",
    ),
    "a generic class of the user's": (
        (
            "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass Box(Generic[T]):\n"
            "    def get(self) -> T: ...\ndef f(b: Box[Tool]):\n    print(b.get().execution)"
        ),
        "execution",
    ),
    "attrgetter": (
        "from operator import attrgetter\ndef f(ts: list[Tool]):\n    print(attrgetter('execution')(ts[0]))",
        "execution",
    ),
    "dataclasses.replace": (
        (
            "from dataclasses import dataclass\n@dataclass\nclass D:\n    t: Tool\n"
            "from dataclasses import replace\ndef f(d: D):\n    print(replace(d).t.execution)"
        ),
        "execution",
    ),
    "a name that hides the import": (
        "def f():\n    from elsewhere import Tool\n    def g(t: Tool):\n        print(t.execution)",
        "execution",
    ),
    "a class that is not scanned": (
        "from .missing import Tool2\ndef f(t: Tool2):\n    print(t.execution)",
        "execution",
    ),
}


INFERRED = {
    "overloads",
    "a TypedDict that is called",
    "a partial function",
    "reduce",
    "chain",
    "a generic class of the user's",
    "dataclasses.replace",
}
"""Constructs that ty decides on."""


def test_what_it_cannot_resolve_is_listed(tmp_path: Path) -> None:
    found = all_scanned(tmp_path, {construct: code for construct, (code, _) in UNRESOLVED.items()})
    for construct, (_, name) in UNRESOLVED.items():
        lines, unresolved = found[construct]
        assert (len(lines), unresolved) == ((1, []) if construct in INFERRED else (0, [name])), construct


LOOKUPS = {
    "an exception of an error code": (
        "from mcp_bindings.v2025_11_25 import errors\nx = errors.PeerUrlElicitationRequiredError"
    ),
    "the table of errors": "from mcp_bindings.v2025_11_25 import ERRORS\nx = ERRORS[-32042]",
    "a method without a slash": "def f(method: str):\n    return method == 'ping'",
    "a method in a message": "def f(message):\n    return message['method'] == 'ping'",
    "a method in a pattern": "def f(method: str):\n    match method:\n        case 'ping':\n            return 1",
    "a message as a dict": "x = {'method': 'initialize'}",
}


def test_it_finds_uses_by_name(tmp_path: Path) -> None:
    for construct, (lines, unresolved) in all_scanned(tmp_path, LOOKUPS).items():
        assert (len(lines), unresolved) == (1, []), construct
