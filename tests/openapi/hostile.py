"""Documents whose author wants code to run, secrets to be read, or requests to go elsewhere."""

from typing import Any

MARK = "pwned"
CODE = f"__import__('pathlib').Path('{MARK}').touch()"
BODIES = (
    *(CODE, f'"+{CODE}+"', f"'+{CODE}+'", f'"""\n{CODE}\n"""', f"'''\n{CODE}\n'''", f'\\"\n{CODE}\n#', f"\\\n{CODE}"),
    *(f'\\"""\n{CODE}\n"""', f"\\'\n{CODE}\n#", f"\r\n{CODE}\r\n", f"\u2028{CODE}\u2029", f"\x0c{CODE}\x0c"),
    *(f"{{{{ {CODE} }}}}", f"{{% set x = {CODE} %}}", f"{{{CODE}}}", f"%({CODE})s", f"${{{CODE}}}", f"`{CODE}`"),
    *(
        f"#\n{CODE}",
        f"\n{CODE}\n",
        f") -> None:\n    {CODE}\n",
        f"]\n{CODE}\n[",
        f"x: int = {CODE}",
        f"\\N{{DIGIT ONE}}{CODE}",
    ),
)
NAMES = (
    *(
        "__class__",
        "__init__",
        "__import__",
        "model_config",
        "model_fields",
        "model_rebuild",
        "copy",
        "json",
        "self",
        "cls",
    ),
    *("ctx", "app", "api", "http", "mcp", "MISSING", "BaseModel", "Field", "Any", "Literal", "Annotated", "RootModel"),
    *(
        "list",
        "dict",
        "str",
        "int",
        "None",
        "True",
        "class",
        "def",
        "async",
        "await",
        "lambda",
        "print",
        "Context",
        "App",
    ),
    *(
        "$ref",
        "$id",
        "$defs",
        "#/components/schemas/x",
        "../../etc/passwd",
        "a/b",
        "a.b",
        "a b",
        "",
        " ",
        "1",
        "-",
        "_",
    ),
    *(
        "\u202e\u2066evil",
        "\u00e9",
        "\u0130",
        "\ufb01",
        "\u200b",
        "\U0001f600",
        "\uff45\uff56\uff41\uff4c",
        "x" * 300,
        "os.system",
        "__",
    ),
    *("AWS_SECRET_ACCESS_KEY", "PATH", "GITHUB_TOKEN", "InternalRoot", "Internal0Arguments", "InternalResults"),
)
KEYWORDS = (
    "customTypePath",
    "x-python-type",
    "customBasePath",
    "x-python-import",
    "x-type",
    "$schema",
    "title",
    "format",
)
NO_SCOPES: list[str] = []
PAYLOADS = (*BODIES, *NAMES)


def operation(payload: str, number: int) -> Any:
    """Return an operation that has a payload wherever the text of a document may be."""
    acts = dict.fromkeys(KEYWORDS, "os.system" if number % 2 else payload)
    text = {"type": "string", "description": payload, "default": payload, "enum": [payload, "a"], "example": payload}
    shape = {
        "type": "object",
        "description": payload,
        "required": [payload],
        "properties": {payload: {"type": "string", **acts, "description": payload}, "a": text, "b": {"const": payload}},
        "additionalProperties": {"type": "string", **acts},
        **acts,
    }
    found: Any = {
        "operationId": f"op{number}{payload}",
        "summary": payload,
        "description": payload,
        "tags": [payload],
        "parameters": [
            {"name": payload or "p", "in": "query", "description": payload, "schema": {**text, **acts}},
            {"name": f"h{number}", "in": "header", "schema": {"type": "string", "pattern": payload}},
            {"name": payload or "p", "in": "header", "schema": {"type": "string"}},
            {"name": payload or "p", "in": "cookie", "schema": {"type": "array", "items": {"type": "string", **acts}}},
        ],
        "requestBody": {"description": payload, "content": {"application/json": {"schema": shape}}},
        "responses": {
            "200": {
                "description": payload,
                "content": {"application/json": {"schema": {"anyOf": [shape, {"type": "string"}], "title": payload}}},
            }
        },
        "security": [{payload: NO_SCOPES}],
        "servers": [{"url": "https://evil.example"}],
    }
    return found


def document(*payloads: str) -> Any:
    """Return a document with an operation for each payload."""
    first = payloads[0]
    found: Any = {
        "openapi": "3.1.0",
        "info": {"title": first, "version": first, "description": first},
        "servers": [{"url": "https://api.example", "description": first}],
        "tags": [{"name": first}],
        "security": [{each: NO_SCOPES} for each in payloads],
        "paths": {f"/o{number}": {"post": operation(each, number)} for number, each in enumerate(payloads)},
        "components": {
            "securitySchemes": {
                each: (
                    {"type": "apiKey", "in": "header", "name": f"X-Key-{number}", "description": each}
                    if number % 2
                    else {"type": "http", "scheme": "bearer"}
                )
                for number, each in enumerate(payloads)
            },
        },
    }
    return found
