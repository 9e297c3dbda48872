"""Reads the signature of a decorated function without pydantic or `inspect`, to keep imports of servers fast."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial, wraps
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, NamedTuple, TypeGuard, get_type_hints

from mcp_runtime.app.errors import DefinitionError, calling_line
from mcp_runtime.core.functions import SCOPES

MISSING: Final[Any] = object()
"""The default of a required parameter, and the return type of a function that declares none."""

_VARIABLE: Final = 0x04 | 0x08
"""The flags of code with ``*args`` or ``**kwargs`` (`inspect.CO_VARARGS`, `CO_VARKEYWORDS`)."""
_UNWRAPPED: Final = "; if a decorator made it, add @functools.wraps(function) to its inner function"
_CALL: Final = "__call__"
_BOUND: Final = "__mcp_bound__"
"""The attribute of a partial's function: how many arguments it binds by place, and the names of the others."""
_CONTEXTS: Final = ("context", "ctx")
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


def as_function(given: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a partial or of an object that can be called; anything else as it is.

    What a partial binds is not a parameter of it any more. An object has the name of its class.
    """
    if _is_partial(given):
        call = _calling(given, as_function(given.func))
        setattr(call, _BOUND, (len(given.args), frozenset(given.keywords)))
        return call
    method = getattr(given, _CALL, None)
    if isinstance(given, type | FunctionType | MethodType) or not isinstance(method, MethodType):
        return given
    call = _calling(given, method)
    call.__name__, call.__doc__ = type(given).__name__, method.__doc__ or given.__doc__
    return call


def _is_partial(given: object) -> "TypeGuard[partial[Any]]":
    """Return whether a callable is a partial."""
    return isinstance(given, partial)


def _calling(given: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(inner)
    def call(**named: Any) -> Any:
        return given(**named)

    if hasattr(given, SCOPES):
        setattr(call, SCOPES, getattr(given, SCOPES))
    return call


def name_of(function: object) -> str:
    """Return the name of a function; empty for one without a usable name, such as a lambda."""
    name = str(getattr(function, "__name__", ""))
    return "" if name == "<lambda>" else name


def needs_argument(function: Callable[..., Any]) -> bool:
    """Return whether a function cannot be called without a positional argument."""
    code, plain, skipped, bound = _code(as_function(function))
    if code is None:
        return False
    required = code.co_varnames[skipped : code.co_argcount - len(plain.__defaults__ or ())]
    return not bound.issuperset(required)


def read_signature(function: Callable[..., Any], what: str) -> Signature:
    """Return the signature of a function.

    Args:
        function: a function or a method, plain or async, or what `as_function` takes; decorated ones are unwrapped.
        what: what it becomes: ``tool add``.

    Raises:
        DefinitionError: it is not a function, or has parameters without a type, or that cannot be passed by name.
    """
    given, function = function, as_function(function)
    code, plain, skipped, bound = _code(function)
    if code is None:
        raise DefinitionError(calling_line(), what, instead_of(given))
    where = f"{code.co_filename}:{code.co_firstlineno}"
    bare = Signature(function, what, where, (), MISSING)
    if code.co_flags & _VARIABLE or code.co_posonlyargcount:
        reason = "clients pass arguments by name; *args, **kwargs and positional-only parameters do not work"
        raise bare.error(f"{reason}{_UNWRAPPED if code.co_freevars else ''}")
    hints = _hints(plain, bare)
    found = _parameters(code, plain, skipped, hints, bare)
    parameters = tuple(parameter for parameter in found if parameter.name not in bound)
    return Signature(function, what, where, parameters, hints.get("return", MISSING))


def instead_of(given: object) -> str:
    """Say what to pass in place of something whose signature cannot be read."""
    if isinstance(given, type):
        return f"{given.__name__} is a class; pass a function, a method of an object, or an object with {_CALL}"
    if callable(given):
        return f"the signature of {given!r:.60} cannot be read; call it in a function with typed parameters"
    return f"expected a function, not {given!r:.60}"


def _code(function: Any) -> tuple[CodeType | None, Any, int, set[str]]:
    """Return the code of a callable, the function that has it, and which parameters are bound: by place and by name."""
    skipped, bound = 0, set[str]()
    while True:
        places, names = getattr(function, "__dict__", {}).get(_BOUND, (0, ()))
        skipped, bound = skipped + places, bound.union(names)
        if isinstance(function, MethodType):
            function, skipped = function.__func__, skipped + 1
        elif (inner := getattr(function, "__wrapped__", None)) is not None:
            function = inner
        else:
            return getattr(function, "__code__", None), function, skipped, bound


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
        if name in ("self", "cls") and name not in hints:
            raise signature.error(f"its parameter {name} is that of a method; use a function, or a method of an object")
        if name not in hints:
            example = "Context" if name in _CONTEXTS and name == names[0] else "str"
            raise signature.error(f"parameter {name} has no type; annotate it, for example {name}: {example}")
        yield Parameter(name, hints[name], defaults.get(name, MISSING))


def passed_to(lifespan: Callable[..., Any], app: Any) -> Callable[[], Any]:
    """Return a lifespan without arguments for one that takes the app."""

    @wraps(lifespan)
    def opened() -> Any:
        return lifespan(app)

    return opened
