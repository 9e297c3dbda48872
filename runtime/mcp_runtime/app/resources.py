"""Functions as resources and resource templates."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mcp_runtime.app.errors import DefinitionError, NotFound, invalid
from mcp_runtime.app.functions import Function, said_of
from mcp_runtime.app.registry import Registry
from mcp_runtime.app.uri_templates import Raw, UriTemplate
from mcp_runtime.core.binding import Binding
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.protocol.uris import canonical

if TYPE_CHECKING:
    from mcp_runtime.app.files import Folder

_MAX_SHOWN: Final = 200
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


Entry: TypeAlias = "FunctionResource | Folder"
"""A resource or a resource template."""


class FunctionResource(Function):
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
        uri: the URI, or the text of the template.
        template: the template; None for a single resource.
        listed: its entry in the list of resources or templates.
        meta: the metadata of the entry, which its contents have too; None for none.

    Raises:
        DefinitionError: the function cannot be a resource.
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
        super().__init__(function, f"resource {uri}", name)
        self._mime_type = mime_type
        self._binding = binding
        try:
            raw = [p.name for p in self.parameters if Raw in getattr(p.annotation, "__metadata__", ())]
            self.template = template = UriTemplate(uri, raw) if "{" in uri or "}" in uri else None
        except ValueError as error:
            raise self.signature.error(str(error)) from None
        if not _SCHEME.match(uri):
            raise self.signature.error("the URI needs a scheme: acme://shelf")
        self.uri = uri
        given, wanted = {p.name for p in self.parameters}, set(template.names if template else ())
        if given != wanted:
            odd = [f"{name} is only in the URI" for name in sorted(wanted - given)]
            odd += [f"{name} is only a parameter (in the URI: {{{name}}})" for name in sorted(given - wanted)]
            reason = f"the URI and the function must have the same variables; {', '.join(odd)}"
            raise self.signature.error(reason)
        key = {"uri_template": uri} if template else {"uri": uri}
        description = description or self.summary
        self.meta: Mapping[str, Any] | None = said.get("meta")
        said |= {"name": self.name, "description": description, "mime_type": mime_type}
        self.listed: Mapping[str, Any] = said_of(**key, **said)

    async def read(self, uri: str, values: Mapping[str, str], ctx: Context[Any]) -> Any:
        """Return the contents of a URI.

        Args:
            uri: the URI.
            values: the variables of the template.
            ctx: the context of the request.

        Raises:
            PeerError: a variable of the template does not match the type of its parameter.
        """
        try:
            arguments = self.arguments.read_strings(values) if self.template else {}
        except ValueError as error:
            from mcp_runtime.app.mistakes import mistakes

            reason = f"{clipped(uri, _MAX_SHOWN)}: {mistakes(error, values, list(values))}"
            raise invalid(reason, "/uri") from None
        returned = await self.invoke(arguments, ctx)
        from mcp_runtime.app.content import contents  # It loads pydantic.

        return self.result(lambda value: contents(self._binding, uri, value, self._mime_type, self.meta), returned)


class Resources:
    """The resources and resource templates of a server.

    Attributes:
        fixed: resources by URI.
        templates: resource templates by their text.
    """

    def __init__(self) -> None:
        self.fixed: Registry[Entry] = Registry()
        self._alike: dict[str, list[str]] = {}
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
            raise DefinitionError(
                entry.where, f"resource {uri}", f"already defined ({taken.where}); give one of them another URI"
            )
        (self.templates if entry.template else self.fixed).add(uri, entry)
        if not entry.template:
            self._alike.setdefault(canonical(uri), []).append(uri)

    def get(self, uri: str) -> "Entry | None":
        """Return the entry defined for a URI or a template."""
        return self.fixed.get(uri) or self.templates.get(uri)

    def template(self, uri: str) -> UriTemplate | None:
        """Return a template as it was defined."""
        entry = self.templates.get(uri)
        return entry.template if entry else None

    def remove(self, uri: str) -> bool:
        """Remove a resource or a resource template; return whether it existed."""
        if self.fixed.remove(uri):
            alike = self._alike[canonical(uri)]
            alike.remove(uri)
            if not alike:
                del self._alike[canonical(uri)]
            return True
        return self.templates.remove(uri)

    async def read(self, uri: str, ctx: Context[Any]) -> Any:
        """Return the contents of a URI.

        Raises:
            NotFound: nothing matches the URI, or several entries do.
        """
        found = self.matching(uri)
        if not found:
            raise no_such_resource(uri)
        if len(found) != 1:
            fitting = ", ".join(entry.template.text if entry.template else entry.uri for entry, _ in found)
            kind = "templates" if found[0][0].template else "resources"
            raise NotFound(f"several {kind} match it ({fitting})", clipped(uri, _MAX_SHOWN))
        entry, values = found[0]
        return await entry.read(uri, values, ctx)

    def named(self, uri: str | None) -> "list[Entry]":
        """Return what matches a URI, or all entries if that is None."""
        return [*self.fixed, *self.templates] if uri is None else [entry for entry, _ in self.matching(uri)]

    def matching(self, uri: str) -> "list[tuple[Entry, Mapping[str, str]]]":
        """Return what matches a URI, with the variables of the template.

        That is the resource of exactly this URI; or else those that spell it differently (`canonical`); or else all
        templates that produce it.
        """
        spelled = [uri] if self.fixed.get(uri) is not None else self._alike.get(canonical(uri), [])
        if fixed := [entry for each in spelled if (entry := self.fixed.get(each)) is not None]:
            return [(entry, {}) for entry in fixed]
        return [
            (entry, values)
            for entry in self.templates
            if entry.template and (values := entry.template.match(uri)) is not None
        ]


def no_such_resource(uri: str) -> NotFound:
    """Return the error for a URI that names no resource."""
    return NotFound("there is no such resource", clipped(uri, _MAX_SHOWN))
