"""Random single changes of keywords: those that combine schemas, that types express in part, or that spell others."""

from copy import deepcopy

from support.mutants import Json, become, has_enum, is_object, is_open, member, of, on, wrap

# One of several


on(
    "oneOf with a member twice",
    lambda n: "anyOf" in n,
    lambda n: n.update(oneOf=[*n["anyOf"], {**deepcopy(n.pop("anyOf")[0]), "description": "Again."}]),
)
on("oneOf of equals", of("string", "integer", "boolean"), lambda n: wrap("oneOf", deepcopy(n))(n))
on("oneOf with null", of("string", "integer"), lambda n: wrap("oneOf", {"type": [n["type"], "null"]})(n))
on(
    "oneOf of apart",
    of("string", "integer", "array"),
    wrap("oneOf", {"type": "boolean"}, {"type": "null"}),
)
on("contains set", of("array"), lambda n: n.update(contains={"enum": ["zzz", {"zzz": 1}]}))
on(
    "required in allOf",
    lambda n: n.get("type") == "object" and bool(n.get("properties")) and "method" not in n["properties"],
    lambda n: n.update(allOf=[{"required": [next(iter(n["properties"]))]}]),
)


on("oneOf that overlaps", of("string"), wrap("oneOf", {"type": "string", "maxLength": 4}))
on("oneOf of numbers", of("integer"), wrap("oneOf", {"type": "number", "minimum": 3}))
on("oneOf beside a constant", of("string"), wrap("oneOf", {"const": "text"}))
on("anyOf of equals", of("string", "integer", "boolean"), lambda n: wrap("anyOf", deepcopy(n))(n))
on("reference twice in oneOf", lambda n: "$ref" in n, lambda n: wrap("oneOf", deepcopy(n))(n))
on("reference or null, once", lambda n: "$ref" in n, wrap("oneOf", {"type": "null"}))


def _names(node: Json) -> tuple[str, str]:
    first, *_, last = node["properties"]
    return first, last


def has_two(node: Json) -> bool:
    return node.get("type") == "object" and len(node.get("properties", {})) > 1 and "method" not in node["properties"]


on("one of two required", has_two, lambda n: n.update(oneOf=[{"required": [name]} for name in _names(n)]))
on("any of two required", has_two, lambda n: n.update(anyOf=[{"required": [name]} for name in _names(n)]))
on("closed by allOf", has_two, lambda n: n.update(allOf=[{"additionalProperties": False}]))
on(
    "property typed by allOf",
    has_two,
    lambda n: n.update(allOf=[{"properties": {_names(n)[0]: {"type": "string"}}}]),
)
on("reference and required", lambda n: "$ref" in n, lambda n: n.update(allOf=[{"required": ["zzz"]}]))

# Keywords that types do not express

on("unevaluatedProperties", is_open, lambda n: n.update(unevaluatedProperties=False))
on("patternProperties", is_open, lambda n: n.update(patternProperties={"^x-": {"type": "string"}}))
on("propertyNames", is_open, lambda n: n.update(propertyNames={"maxLength": 12}))
on(
    "dependentRequired",
    lambda n: len(n.get("properties", {})) > 1,
    lambda n: n.update(dependentRequired={next(iter(n["properties"])): [[*n["properties"]][-1]]}),
)
on(
    "if then",
    lambda n: len(n.get("properties", {})) > 1,
    lambda n: n.update(
        {"if": {"required": [next(iter(n["properties"]))]}, "then": {"required": [[*n["properties"]][-1]]}}
    ),
)
on(
    "not required",
    lambda n: bool(n.get("properties")),
    lambda n: n.update({"not": {"required": [[*n["properties"]][-1]]}}),
)
on("contains", of("array"), lambda n: n.update(contains={"type": "object"}))
on("prefixItems", of("array"), lambda n: n.update(prefixItems=[{"type": "boolean"}]))
on("items after prefix", of("array"), lambda n: n.update(prefixItems=[n.get("items", {})], items=False))
on(
    "allOf required",
    lambda n: bool(n.get("properties")),
    lambda n: n.update(allOf=[{"type": "object", "required": [[*n["properties"]][-1]]}]),
)
on("reference with siblings", lambda n: "$ref" in n, lambda n: n.update(required=["zzz"]))
on("reference with bound", lambda n: "$ref" in n, lambda n: n.update(maxProperties=1, maxLength=2))
on("format", of("string"), lambda n: n.update(format="date"))
on(
    "dependentSchemas",
    lambda n: len(n.get("properties", {})) > 1,
    lambda n: n.update(dependentSchemas={next(iter(n["properties"])): {"minProperties": 3}}),
)


on("contains any", of("array"), lambda n: n.update(contains={}))
on("contains null", of("array"), lambda n: n.update(contains={"type": "null"}))
on(
    "contains null at most once",
    of("array"),
    lambda n: n.update(contains={"type": "null"}, minContains=0, maxContains=1),
)
on("contains its items", of("array"), lambda n: n.update(contains=deepcopy(n.get("items", {})), minContains=2))
on("contains few of its items", of("array"), lambda n: n.update(contains=deepcopy(n.get("items", {})), maxContains=1))
on("contains a text", of("array"), lambda n: n.update(contains={"type": "string"}, minContains=2, maxContains=3))
on("exclusiveMaximum set", of("integer", "number"), lambda n: n.update(exclusiveMaximum=7))
on("items bounded", lambda n: n.get("items", {}).get("type") == "string", lambda n: n["items"].update(maxLength=4))
on("rest bounded", is_open, lambda n: n.update(additionalProperties={"type": ["string", "object"], "maxLength": 4}))
on(
    "reference or a list of it",
    lambda n: "$ref" in n,
    lambda n: wrap("anyOf", {"type": "array", "items": deepcopy(n)})(n),
)

# Other words for the same


def _as_pattern(node: Json) -> None:
    become({"type": "string", "pattern": f"^({'|'.join(node['enum'])})$"})(node)


on("enum as a pattern", lambda n: has_enum(n) and all(isinstance(v, str) for v in n["enum"]), _as_pattern)
on("integer as a number", of("integer"), lambda n: n.update(type="number", multipleOf=1))
on("string as an enum of one type", of("string", "boolean"), lambda n: n.update(anyOf=[{"type": n.pop("type")}]))
on("items as a prefix", of("array"), lambda n: n.update(prefixItems=[deepcopy(n.get("items", {}))]))
on(
    "closed by unevaluatedProperties",
    lambda n: is_open(n) and not {"allOf", "anyOf", "$ref"} & n.keys(),
    lambda n: n.update(unevaluatedProperties=False),
)
on(
    "required in two places",
    lambda n: len(n.get("required", ())) > 1 and n.get("type") == "object",
    lambda n: n.update(required=n["required"][:1], allOf=[{"required": n["required"][1:]}]),
)
member(
    "resultType opened", lambda n, k, v: k == "resultType", lambda n, k: n["properties"].update({k: {"type": "string"}})
)
member(
    "forbidden where it is required",
    lambda n, k, v: k in n.get("required", ()) and is_object(v) and "method" not in n["properties"],
    lambda n, k: n.update(allOf=[{"properties": {k: False}}]),
)
