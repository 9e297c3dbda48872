"""Functions as prompts."""

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from typing import Annotated, Any, get_args, get_origin

from mcp_runtime.app.errors import invalid
from mcp_runtime.app.functions import Function, said_of
from mcp_runtime.core.binding import Binding
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.protocol.names import PROMPTS_GET


class Prompt(Function):
    """A function as a prompt. Arguments are strings, which are converted to the types of the parameters.

    Args:
        function: the function; it returns a string, messages or content blocks.
        binding: the revision being served.
        name: its name; by default that of the function.
        description: what it is for; by default the first paragraph of the docstring.
        said: further properties that prompts have in the revision.

    Raises:
        DefinitionError: the function cannot be a prompt.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        binding: Binding,
        *,
        name: str | None,
        description: str | None,
        **said: Any,
    ) -> None:
        super().__init__(function, "prompt", name)
        for parameter in self.parameters:
            if _is_structured(parameter.annotation):
                reason = "arguments of prompts are strings, none of which is a list or an object"
                raise self.signature.error(f"parameter {parameter.name}: {reason}")
        self._binding = binding
        self._description = description or self.summary
        self._said = said_of(name=self.name, description=self._description, **said)

    @cached_property
    def listed(self) -> Mapping[str, Any]:
        """Its entry in ``prompts/list``."""
        stated = self.schema["properties"]
        arguments = [
            said_of(
                name=parameter.name,
                description=stated[parameter.name].get("description"),
                required=True if parameter.name in self.schema.get("required", ()) else None,
            )
            for parameter in self.parameters
        ]
        return {**self._said, "arguments": arguments} if arguments else self._said

    async def get(self, arguments: Mapping[str, str], ctx: Context[Any]) -> Any:
        """Return the messages of the prompt.

        Raises:
            PeerError: the arguments are invalid.
        """
        try:
            values = self.arguments.read_strings(arguments)
        except ValueError as error:
            raise invalid(self.mistakes(error, arguments), "/arguments") from None
        returned = await self.invoke(values, ctx)
        method: Any = self._binding.methods[PROMPTS_GET]
        from mcp_runtime.app.content import is_result  # It loads pydantic.
        from mcp_runtime.core.json.values import is_array

        result: type[Any] = method.result.load()
        if is_result(returned, result):
            return returned
        messages = returned if is_array(returned) else [returned]
        made = self.result(lambda values: [_message(value) for value in values], messages)
        return result(messages=made, description=self._description)


def _is_structured(annotation: Any) -> bool:
    """Whether the values of a type are lists or objects, to which no string is converted."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    kind = get_origin(annotation) or annotation
    is_model = hasattr(kind, "model_fields") or is_dataclass(kind)
    return is_model or not {list, tuple, set, frozenset, dict, Mapping}.isdisjoint(getattr(kind, "__mro__", ()))


def _message(value: Any) -> Any:
    """Return a message as it is; anything else becomes a message of the user."""
    from mcp_runtime.app.content import block_of  # Importing a server must not import pydantic.
    from mcp_runtime.app.media import Message

    if isinstance(value, Message):
        return {"role": value.role, "content": block_of(value.content)}
    return value if hasattr(value, "role") else {"role": "user", "content": block_of(value)}
