"""Reads the signature of a decorated function without pydantic or `inspect`, to keep imports of servers fast."""

from collections.abc import Callable, Iterator, Mapping
from types import CodeType, MethodType
from typing import Any, Final, NamedTuple, get_type_hints

from mcp_runtime.app.errors import DefinitionError

MISSING: Final[Any] = object()
"""The default of a required parameter, and the return type of a function that declares none."""

_VARIABLE: Final = 0x04 | 0x08
"""The flags of code with ``*args`` or ``**kwargs`` (`inspect.CO_VARARGS`, `CO_VARKEYWORDS`)."""
_CONTEXTS: Final = ("context", "ctx", "self")
"""Names by which authors mean the context of a call."""
GENERATOR: Final = 0x20
"""The flag of code that is a generator (`inspect.CO_GENERATOR`)."""
ASYNC_GENERATOR: Final = 0x200
"""The flag of code that is an asynchronous generator (`inspect.CO_ASYNC_GENERATOR`)."""


class Parameter(NamedTuple):
    """A parameter of a function.

    Attributes:
        name: its name.
        annotation: its type.
        default: its default; `MISSING` if it is required.
    """

    name: str
    annotation: Any
    default: Any


class Signature(NamedTuple):
    """The signature of a function.

    Attributes:
        function: the function.
        what: what it becomes: ``tool add``.
        where: the file and line of the function.
        parameters: its parameters, all of which can be passed by name.
        returns: its return type; `MISSING` if it declares none.
    """

    function: Callable[..., Any]
    what: str
    where: str
    parameters: tuple[Parameter, ...]
    returns: Any

    def error(self, reason: str) -> DefinitionError:
        """Return the error for a function that cannot be registered."""
        return DefinitionError(self.where, self.what, reason)

    def warn(self, reason: str) -> None:
        """Warn the author of a function, as of its line."""
        import warnings

        file, _, line = self.where.rpartition(":")
        warnings.warn_explicit(f"{self.what}: {reason}", UserWarning, file, int(line))


def name_of(function: object) -> str:
    """Return the name of a function; empty for one without a usable name, such as a lambda."""
    name = str(getattr(function, "__name__", ""))
    return "" if name == "<lambda>" else name


def read_signature(function: Callable[..., Any], what: str) -> Signature:
    """Return the signature of a function.

    Args:
        function: a function or a method, plain or async; decorated ones are unwrapped.
        what: what it becomes: ``tool add``.

    Raises:
        DefinitionError: it is not a function, or has parameters without a type, or that cannot be passed by name.
    """
    code, plain, skipped = _code(function)
    if code is None:
        where = "this program"
        raise DefinitionError(where, what, f"expected a function, not {function!r:.60}; write the decorator with ()")
    where = f"{code.co_filename}:{code.co_firstlineno}"
    bare = Signature(function, what, where, (), MISSING)
    if code.co_flags & _VARIABLE or code.co_posonlyargcount:
        raise bare.error("clients pass arguments by name; *args, **kwargs and positional-only parameters do not work")
    hints = _hints(plain, bare)
    parameters = tuple(_parameters(code, plain, skipped, hints, bare))
    return Signature(function, what, where, parameters, hints.get("return", MISSING))


def _code(function: Any) -> tuple[CodeType | None, Any, int]:
    """Return the code of a callable, the function that has it, and how many parameters are already bound."""
    skipped = 0
    while True:
        if isinstance(function, MethodType):
            function, skipped = function.__func__, 1
        elif (inner := getattr(function, "__wrapped__", None)) is not None:
            function = inner
        else:
            return getattr(function, "__code__", None), function, skipped


def _hints(function: Any, signature: Signature) -> Mapping[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        reason = f"its annotations use {error.name}, which its module does not define; import or define it there"
        raise signature.error(reason) from None
    except Exception as error:
        raise signature.error(f"its annotations cannot be read: {error}") from None


def _parameters(
    code: CodeType, function: Any, skipped: int, hints: Mapping[str, Any], signature: Signature
) -> Iterator[Parameter]:
    count = code.co_argcount
    names = code.co_varnames[skipped : count + code.co_kwonlyargcount]
    given: tuple[Any, ...] = function.__defaults__ or ()
    defaults = dict(zip(code.co_varnames[count - len(given) : count], given, strict=True))
    defaults |= function.__kwdefaults__ or {}
    for name in names:
        in_class = "." in function.__qualname__.rpartition("<locals>.")[2]
        if in_class and name in ("self", "cls") and name not in hints:
            raise signature.error("it is an unbound method; use a function or a bound method")
        if name not in hints:
            example = "Context" if name in _CONTEXTS and name == names[0] else "str"
            raise signature.error(f"parameter {name} has no type; annotate it, for example {name}: {example}")
        yield Parameter(name, hints[name], defaults.get(name, MISSING))
