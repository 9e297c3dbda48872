"""Functions as resources and resource templates."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from mcp_runtime.app.errors import DefinitionError, NotFound
from mcp_runtime.app.functions import Function, said_of
from mcp_runtime.app.registry import Registry
from mcp_runtime.app.uri_templates import Raw, UriTemplate
from mcp_runtime.binding import Binding
from mcp_runtime.errors import PeerError, clipped
from mcp_runtime.handlers import Context
from mcp_runtime.protocol.names import RESOURCES_READ

_INVALID_PARAMS: Final = -32602
_MAX_SHOWN: Final = 200
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Entry(Protocol):
    """A resource or a resource template."""

    @property
    def template(self) -> UriTemplate | None:
        """The template; None for a single resource."""
        ...

    @property
    def where(self) -> str:
        """The file and line where it is defined."""
        ...

    @property
    def listed(self) -> Mapping[str, Any]:
        """Its entry in the list of resources or templates."""
        ...

    async def read(self, uri: str, values: Mapping[str, str], ctx: Context[Any]) -> Any:
        """Return the contents of a URI.

        Args:
            uri: the URI.
            values: the variables of the template.
            ctx: the context of the request.
        """
        ...


class FunctionResource:
    """A function as a resource or a resource template.

    Args:
        function: the function.
        binding: the revision being served.
        uri: the URI, or a URI template.
        name: its name; by default that of the function.
        description: what it is for; by default the first paragraph of the docstring.
        mime_type: the media type of the contents.
        said: further properties that resources have in the revision.

    Attributes:
        function: the function.
        template: the template; None for a single resource.
        listed: its entry in the list of resources or templates.

    Raises:
        DefinitionError: the function cannot be a resource.
        ModuleNotFoundError: `uri` is a template, which needs the extra ``app``, and that is not installed.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        binding: Binding,
        *,
        uri: str,
        name: str | None,
        description: str | None,
        mime_type: str | None,
        **said: Any,
    ) -> None:
        self.function = Function(function, f"resource {uri}", name)
        self._mime_type = mime_type
        self._binding = binding
        try:
            raw = [p.name for p in self.function.parameters if Raw in getattr(p.annotation, "__metadata__", ())]
            self.template = template = UriTemplate(uri, raw) if "{" in uri or "}" in uri else None
        except ValueError as error:
            raise self.function.signature.error(str(error)) from None
        if not _SCHEME.match(uri):
            raise self.function.signature.error("the URI needs a scheme: acme://shelf")
        given, wanted = {p.name for p in self.function.parameters}, set(template.names if template else ())
        if given != wanted:
            odd = [f"{name} is only in the URI" for name in sorted(wanted - given)]
            odd += [f"{name} is only a parameter (in the URI: {{{name}}})" for name in sorted(given - wanted)]
            reason = f"the URI and the function must have the same variables; {', '.join(odd)}"
            raise self.function.signature.error(reason)
        key = {"uri_template": uri} if template else {"uri": uri}
        description = description or self.function.summary
        name = self.function.name
        self.listed: Mapping[str, Any] = said_of(**key, name=name, description=description, mime_type=mime_type, **said)

    @property
    def where(self) -> str:
        """The file and line of the function."""
        return self.function.signature.where

    async def read(self, uri: str, values: Mapping[str, str], ctx: Context[Any]) -> Any:
        """Return the contents of a URI; see `Entry`.

        Raises:
            PeerError: a variable of the template does not match the type of its parameter.
        """
        try:
            arguments = self.function.arguments.read_strings(values) if self.template else {}
        except ValueError as error:
            from mcp_runtime.app.mistakes import mistakes

            reason = f"{clipped(uri, _MAX_SHOWN)}: {mistakes(error, values, list(values))}"
            raise PeerError(_INVALID_PARAMS, reason, {"pointer": "/uri"}) from None
        returned = await self.function.call(arguments, ctx)
        return contents(self._binding, uri, returned, self._mime_type)


class Resources:
    """The resources and resource templates of a server.

    Attributes:
        fixed: resources by URI.
        templates: resource templates by their text.
    """

    def __init__(self) -> None:
        self.fixed: Registry[Entry] = Registry()
        self.templates: Registry[Entry] = Registry()

    def __len__(self) -> int:
        return len(self.fixed) + len(self.templates)

    def add(self, uri: str, entry: Entry) -> None:
        """Add a resource or a resource template.

        Raises:
            DefinitionError: the URI or template is already defined.
        """
        taken = self.get(uri)
        if taken is not None:
            raise DefinitionError(entry.where, f"resource {uri}", f"already defined ({taken.where})")
        (self.templates if entry.template else self.fixed).add(uri, entry)

    def get(self, uri: str) -> Entry | None:
        """Return the entry defined for a URI or a template."""
        return self.fixed.get(uri) or self.templates.get(uri)

    def template(self, uri: str) -> UriTemplate | None:
        """Return a template as it was defined."""
        entry = self.templates.get(uri)
        return entry.template if entry else None

    def remove(self, uri: str) -> bool:
        """Remove a resource or a resource template; return whether it existed."""
        return self.fixed.remove(uri) or self.templates.remove(uri)

    async def read(self, uri: str, ctx: Context[Any]) -> Any:
        """Return the contents of a URI.

        Raises:
            NotFound: nothing matches the URI, or several templates do.
        """
        found = self.matching(uri)
        if len(found) != 1:
            fitting = ", ".join(entry.template.text for entry, _ in found if entry.template)
            reason = f"several templates match it ({fitting})" if found else "there is no such resource"
            raise NotFound(reason, clipped(uri, _MAX_SHOWN))
        entry, values = found[0]
        return await entry.read(uri, values, ctx)

    def named(self, uri: str | None) -> list[Entry]:
        """Return what matches a URI, or all entries if that is None."""
        return [*self.fixed, *self.templates] if uri is None else [entry for entry, _ in self.matching(uri)]

    def matching(self, uri: str) -> list[tuple[Entry, Mapping[str, str]]]:
        """Return what matches a URI, with the variables of the template: the resource, or else all such templates."""
        fixed = self.fixed.get(uri)
        if fixed is not None:
            return [(fixed, {})]
        return [
            (entry, values)
            for entry in self.templates
            if entry.template and (values := entry.template.match(uri)) is not None
        ]


def contents(binding: Binding, uri: str, value: Any, mime_type: str | None) -> Any:
    """Return the result of reading a resource: text, bytes, contents of the revision, or any JSON value.

    Raises:
        ValueError: JSON cannot express the value.
    """
    from mcp_runtime.app.content import is_result
    from mcp_runtime.app.schemas import text_of
    from mcp_runtime.model import WireModel

    method: Any = binding.methods[RESOURCES_READ]
    result: type[Any] = method.result.load()
    if is_result(value, result):
        return value
    if isinstance(value, WireModel):
        value = [value]
    from mcp_runtime.protocol.jsonrpc import is_array  # It loads pydantic_core.

    if is_array(value) and value and all(isinstance(item, WireModel) for item in value):
        return result(contents=value)
    said: dict[str, Any] = {"uri": uri}
    if isinstance(value, bytes):
        said |= {"mimeType": mime_type or "application/octet-stream", "blob": b64encode(value).decode()}
    elif isinstance(value, str):
        said |= {"mimeType": mime_type or "text/plain", "text": value}
    else:
        said |= {"mimeType": mime_type or "application/json", "text": text_of(value)}
    return result(contents=[said])
