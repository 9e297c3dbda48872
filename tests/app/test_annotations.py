"""For each kind of annotation, a function takes exactly the values that its JSON Schema accepts."""

import dataclasses
import enum
import ipaddress
from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, JsonValue, ValidationError
from typing_extensions import TypedDict

from mcp_runtime.app.functions import Function
from mcp_runtime.app.schemas import Arguments


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Number(enum.Enum):
    ONE = 1
    TWO = 2


class Mixed(enum.Enum):
    ONE = 1
    RED = "red"
    YES = True
    HALF = 0.5
    NONE = None


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 10


class Name(enum.StrEnum):
    A = "a"
    B = "b"


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class IntRight(enum.IntFlag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: int = 0


class Pair(TypedDict):
    x: int
    y: NotRequired[str]


@dataclasses.dataclass
class Box:
    x: int
    y: str = ""


class Leaf(BaseModel):
    x: int
    y: str = "y"


class Renamed(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    x: int = Field(alias="X")


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: Literal[1, True, "a"]


class Described(BaseModel):
    """Its field has the name of a key of pydantic's core schemas."""

    metadata: Number = Number.ONE


class Tree(BaseModel):
    x: int = 0
    inner: "list[Tree] | Tree | None" = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: Number = Number.ONE


class Dog(BaseModel):
    kind: Literal["dog"]
    names: Iterable[str] = ()


UserId = NewType("UserId", int)

ANNOTATIONS: list[Any] = [
    *(str, int, float, bool, None, Any, object, bytes, complex, Decimal),
    *(date, datetime, time, timedelta, UUID, Path, AnyUrl, JsonValue, UserId),
    *(ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Interface),
    *(Color, Number, Mixed, Level, Name, Right, IntRight),
    *(Literal["a", "b"], Literal[1, 2], Literal[True], Literal[None, "a"], Literal[Color.RED], Literal[Number.ONE]),
    *(Literal[Level.LOW, "a"], Literal[Color.RED, 1]),
    *(
        Point,
        Pair,
        Box,
        Leaf,
        Renamed,
        Closed,
        Described,
        Tree,
        Cat | Dog,
        Annotated[Cat | Dog, Field(discriminator="kind")],
    ),
    *(list, list[int], list[Number], list[Point], tuple, tuple[int, str], tuple[int, ...], tuple[()]),
    *(set[int], set[str], frozenset[str], Set[int], deque[int], Iterable[str], Iterable[int], Sequence[str]),
    *(dict, dict[str, int], dict[str, Number], dict[int, str], dict[Color, int], Mapping[str, float]),
    *(int | str, int | None, float | int, str | list[str], bool | int, Number | str, Point | Pair, Leaf | None),
    *(Annotated[int, Field(ge=0, le=2)], Annotated[str, Field(min_length=1, max_length=3)]),
    *(
        Annotated[float, Field(gt=0, lt=1)],
        Annotated[list[int], Field(max_length=1)],
        Annotated[int, Field(multiple_of=2)],
    ),
    *(Annotated[str, Field(pattern="^a+$")], Annotated[str, Field(strict=False)], Annotated[int, Field(strict=False)]),
]
SPELLED = (
    *(dict[int, str], complex, Decimal, date, datetime, time, timedelta, UUID, AnyUrl),
    *(ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Interface),
)
"""Types that take only strings or keys of one form, which no keyword that validators apply can say."""
VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, 10, -1, 10**20, 0.0, 1.0, 2.0, 0.5, -0.5, 1.5, 1e300),
    *("", "a", "b", "aa", "ab", "red", "blue", "RED", "1", "2", "1.0", "0.5", "true", "True", "null", "1+2j", "j"),
    *(
        "2024-01-31",
        "2024-01-31T10:00:00Z",
        "2024-01-31T10:00:00",
        "10:00:00",
        "PT1H",
        "P1D",
        "12345678-1234-5678-1234-567812345678",
    ),
    *(
        "https://example.com/a",
        "127.0.0.1",
        "::1",
        "10.0.0.0/8",
        "::1/64",
        "/tmp/file",
        "a@b.example",
        "4294967295",
        " a",
        "a ",
        "5_0",
    ),
    *(
        [],
        [1],
        [1, 2],
        [1, 1],
        [1.0],
        [1.5],
        ["a"],
        ["a", "b"],
        ["a", "a"],
        [True],
        [None],
        [1, "a"],
        ["a", 1],
        [[]],
        [[1, 2]],
    ),
    *([{"x": 1}], [1, 2, 3], [[1], [2]], ["1"], ["red"], [1, True], [{"x": 1, "y": 2}], [0.5], ["1", "2"]),
    *(
        {},
        {"x": 1},
        {"x": 1.0},
        {"x": "1"},
        {"x": True},
        {"x": "a"},
        {"x": None},
        {"X": 1},
        {"X": 1, "x": 2},
        {"X": "a"},
    ),
    *(
        {"x": 1, "y": "a"},
        {"x": 1, "y": 2},
        {"x": 1, "z": 2},
        {"y": "a"},
        {"y": 1},
        {"a": 1},
        {"a": "b"},
        {"a": 1.5},
        {"1": "a"},
    ),
    *(
        {"1": 1},
        {"red": 1},
        {"RED": 1},
        {"a": True},
        {"a": []},
        {"a": None},
        {"x": 0, "inner": None},
        {"inner": {"x": 1}},
    ),
    *({"inner": [{"x": 1}, {}]}, {"inner": [{"x": "a"}]}, {"inner": {"inner": {"inner": {"x": None}}}}, {"inner": []}),
    *(
        {"kind": "cat"},
        {"kind": "dog"},
        {"kind": "cat", "lives": 2},
        {"kind": "cat", "lives": True},
        {"kind": "cat", "lives": 3},
    ),
    *(
        {"kind": "dog", "names": []},
        {"kind": "dog", "names": "ab"},
        {"kind": "dog", "names": ["a"]},
        {"kind": "dog", "names": [1]},
    ),
    *(
        {"metadata": 1},
        {"metadata": True},
        {"kind": "cow"},
        {"kind": 1},
        {"lives": 1},
        {"kind": "dog", "lives": True},
        {"kind": "cat", "names": "ab"},
    ),
    *(
        3.0,
        -1.0,
        5,
        7,
        2**63,
        "nan",
        "inf",
        "-5",
        "+5",
        "1e5",
        "P",
        "00:00",
        "0.0.0.0",
        "yes",
        "on",
        "{}",
        "[]",
        "\x00",
        [0],
        [2],
    ),
    *(
        {"kind": "dog", "names": {"a": 1}},
        {"kind": "cat", "lives": 1.0},
        {"kind": ["cat"]},
        {"names": None},
        2**53,
        -(2**63),
        1e-7,
        "\u00e9",
        "\n",
    ),
]


def test_there_are_enough_of_each() -> None:
    assert len(ANNOTATIONS) >= 80 and len(VALUES) >= 150


@pytest.mark.parametrize("annotation", ANNOTATIONS, ids=str)
def test_a_function_takes_what_its_schema_accepts(annotation: Any) -> None:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = annotation
    arguments = Function(function, "tool", None).arguments
    validator: Any = Draft202012Validator(arguments.schema)
    wrong: list[tuple[Any, bool]] = []
    for value in VALUES:
        valid = validator.is_valid({"value": value})
        try:
            arguments.read({"value": value})
            taken = True
        except ValidationError:
            taken = False
        narrower = valid and ((annotation in SPELLED and not taken and is_spelled(value)) or is_too_large(value))
        if taken is not valid and not narrower:
            wrong.append((value, taken))
    assert wrong == [], arguments.schema


def is_spelled(value: Any) -> bool:
    return isinstance(value, (str, dict))


def is_too_large(value: Any) -> bool:
    return isinstance(value, float) and value > 2**53


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "5_0", " 5", "5 ", "0x5", "\u0665", ""])
@pytest.mark.parametrize("kind", [int, float, int | None])
def test_a_number_in_a_string_is_written_in_digits(kind: Any, text: str) -> None:
    with pytest.raises(ValidationError):
        of_strings(kind).read_strings({"value": text})


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (int, "-12", -12),
        (int, "007", 7),
        (float, "1.50", 1.5),
        (float, "1e3", 1000.0),
        (str, " 5_0", " 5_0"),
        (bool, "true", True),
    ],
)
def test_a_string_becomes_the_value_of_its_type(kind: Any, text: str, value: object) -> None:
    assert of_strings(kind).read_strings({"value": text}) == {"value": value}


def of_strings(kind: Any) -> Arguments:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = kind
    return Function(function, "prompt", None).arguments
