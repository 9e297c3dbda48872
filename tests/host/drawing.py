"""Seeded schemas of tools' arguments, and values that a schema accepts."""

import random
from collections.abc import Callable, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from mcp_runtime.core.json.values import is_array, is_object

NAMES = ("id", "name", "path", "kind", "when", "$top", "größe", "limit", "x y")


def arguments(dice: random.Random) -> dict[str, Any]:
    """Return the input schema of a made-up tool, with the constructs that real servers use."""
    definitions = {name: schema(dice, 2, ()) for name in dice.sample(("Item", "Filter", "Node"), dice.randint(0, 3))}
    if "Node" in definitions:
        definitions["Node"] = {
            "type": "object",
            "properties": {"label": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}},
            "required": ["label"],
        }
    whole: dict[str, Any] = objects(dice, 0, tuple(definitions))
    if dice.random() < 0.15:
        whole = {
            "type": "object",
            dice.choice(("anyOf", "oneOf")): [objects(dice, 1, tuple(definitions)) for _ in "ab"],
        }
    if definitions:
        whole["$defs"] = definitions
    return whole


def schema(dice: random.Random, depth: int, known: tuple[str, ...]) -> dict[str, Any]:
    """Return a schema of a value."""
    kinds = ["string", "integer", "number", "boolean", "enum", "const", "mixed"]
    kinds += ["array", "object", "union", "map", "any", "all", "tuple"] if depth < 3 else []
    kinds += ["reference", "optional"] if known else []
    match dice.choice(kinds):
        case "string":
            extra = dice.choice(
                ({}, {"minLength": 1}, {"maxLength": 8}, {"format": "date-time"}, {"pattern": "^[a-z]*$"})
            )
            return {"type": "string", "description": "A text.", **extra}
        case "integer":
            return {
                "type": "integer",
                **dice.choice(
                    ({}, {"minimum": 0}, {"exclusiveMaximum": 100}, {"multipleOf": 5}, {"exclusiveMinimum": 4})
                ),
            }
        case "enum":
            return dice.choice(
                ({"enum": ["a", "", None]}, {"type": "string", "enum": ["x", "y"]}, {"enum": [1, 2, "z"]})
            )
        case "const":
            return {"const": dice.choice(("on", 7, True))}
        case "mixed":
            return {"type": dice.choice((["string", "null"], ["integer", "string"], ["array", "null"]))}
        case "array":
            sizes = dice.choice(({}, {"minItems": 1}, {"uniqueItems": True}, {"maxItems": 3}))
            return {
                "type": "array",
                **({"items": schema(dice, depth + 1, known)} if dice.random() < 0.8 else {}),
                **sizes,
            }
        case "object":
            return objects(dice, depth + 1, known)
        case "union":
            return {
                dice.choice(("anyOf", "oneOf")): [schema(dice, depth + 1, known) for _ in range(dice.randint(2, 3))]
            }
        case "map":
            return {"type": "object", "additionalProperties": schema(dice, depth + 1, known)}
        case "any":
            return dice.choice(({}, {"type": "object"}, {"description": "Anything."}, {"not": {"type": "null"}}))
        case "all":
            return {"allOf": [objects(dice, depth + 1, known), objects(dice, depth + 1, known)]}
        case "tuple":
            return {"type": "array", "prefixItems": [schema(dice, 3, ()), schema(dice, 3, ())], "items": False}
        case "reference":
            return {"$ref": f"#/$defs/{dice.choice(known)}"}
        case "optional":
            return {"anyOf": [{"$ref": f"#/$defs/{dice.choice(known)}"}, {"type": "null"}], "default": None}
        case kind:
            return {"type": kind}


def objects(dice: random.Random, depth: int, known: tuple[str, ...]) -> dict[str, Any]:
    """Return a schema of an object."""
    names = dice.sample(NAMES, dice.randint(0, 4))
    found: dict[str, Any] = {"type": "object", "properties": {name: schema(dice, depth + 1, known) for name in names}}
    required = [name for name in names if dice.random() < 0.5]
    if required:
        found["required"] = required
    if dice.random() < 0.4:
        found["additionalProperties"] = False
    return found


def value(dice: random.Random, of: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a value that a lowered schema probably accepts."""
    if not is_object(of) or depth > 12:
        return dice.choice((None, "a", 1))
    if "$ref" in of:
        found: Any = root
        for part in str(of["$ref"])[2:].split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        return value(dice, found, root, depth + 1)
    if of.get("nullable") and dice.random() < 0.3:
        return None
    if "enum" in of:
        return dice.choice(of["enum"])
    if "const" in of:
        return of["const"]
    for word in ("anyOf", "oneOf", "allOf"):
        if word in of and "properties" not in of:
            return value(dice, dice.choice(of[word]), root, depth + 1)
    types: Any = of.get("type", ["string", "integer", "null"])
    match dice.choice(types) if is_array(types) else types:
        case "object":
            required = of.get("required", ())
            likely = 0.5 if depth < 6 else 0.0
            return {
                name: value(dice, inner, root, depth + 1)
                for name, inner in of.get("properties", {}).items()
                if name in required or dice.random() < likely
            }
        case "array":
            size = dice.randint(of.get("minItems", 0), min(of.get("maxItems", 3), 3))
            return [value(dice, of.get("items", {}), root, depth + 1) for _ in range(size)]
        case "string":
            special = (
                "2026-11-23T00:00:00Z" if of.get("format") == "date-time" else dice.choice(("a", "ab", '{"a": 1}'))
            )
            return special if len(special) <= of.get("maxLength", 99) else "a"
        case "integer":
            return dice.choice((0, 5, 10, 95, -3))
        case "number":
            return dice.choice((0, 1.5, -2, 50))
        case "boolean":
            return dice.random() < 0.5
        case _:
            return None


def without(schema: Any, losses: set[tuple[str, str]], pointer: str = "") -> Any:
    """Return a schema without the keywords that were lost."""
    if is_array(schema):
        return [without(item, losses, f"{pointer}/{number}") for number, item in enumerate(schema)]
    if not is_object(schema):
        return schema
    return {
        word: without(inner, losses, f"{pointer}/{word.replace('~', '~0').replace('/', '~1')}")
        for word, inner in schema.items()
        if (pointer, word) not in losses
    }


def validator(schema: Any) -> Callable[[Any], bool]:
    """Return a function that says whether a schema accepts a value; ``nullable`` counts as in OpenAPI."""
    check: Any = Draft202012Validator(_openapi(schema))
    return lambda given: check.is_valid(given) is True


def _openapi(schema: Any) -> Any:
    if is_array(schema):
        return [_openapi(item) for item in schema]
    if not is_object(schema):
        return schema
    found = {word: _openapi(inner) for word, inner in schema.items()}
    return {"anyOf": [found, {"type": "null"}]} if found.pop("nullable", False) is True else found
