"""Random single changes of objects, messages, results and errors; those of values are in other modules."""

import json
import random
from collections.abc import Callable, Mapping
from copy import deepcopy

from support import mutants_of_keywords
from support.mutants import (
    NOTIFICATIONS,
    OPS,
    REQUESTS,
    ROOTS,
    Draft,
    Json,
    become,
    below,
    drop,
    has_enum,
    is_open,
    listed,
    on,
    op,
    references,
    rename,
)

__all__ = ["OPS", "mutant", "mutants_of_keywords"]


def mutant(tree: Json, name: str, seed: object) -> Json | None:
    """Return a copy of a schema with one change of a class; None if there is no place for it."""
    draft = Draft(deepcopy(tree), random.Random(f"{name} {seed}"))
    return draft.tree if OPS[name](draft) and draft.tree != tree else None


# Open and closed

on("closed", is_open, lambda n: n.update(additionalProperties=False))
on("typed rest", is_open, lambda n: n.update(additionalProperties={"type": "string"}))
on(
    "open stated",
    lambda n: "properties" in n and "additionalProperties" not in n,
    lambda n: n.update(additionalProperties={}),
)
on(
    "map values typed",
    lambda n: n.get("type") == "object" and "properties" not in n,
    lambda n: n.update(additionalProperties={"type": "boolean"}),
)
on(
    "map values any",
    lambda n: isinstance(n.get("additionalProperties"), dict) and n["additionalProperties"] != {},
    lambda n: n.update(additionalProperties={}),
)

# Order and notation

on(
    "properties reordered",
    lambda n: len(n.get("properties", {})) > 1,
    lambda n: n.update(properties=dict(reversed(n["properties"].items()))),
)
on("required reordered", lambda n: len(n.get("required", ())) > 1, lambda n: n["required"].reverse())
on("enum reordered", has_enum, lambda n: n["enum"].reverse())
on("union reordered", lambda n: len(n.get("anyOf", ())) > 1, lambda n: n["anyOf"].reverse())
on("constant respelled", lambda n: "const" in n, lambda n: n.update(enum=[n.pop("const")]))
on("description", lambda n: True, lambda n: n.update(description="Something else."))


@op("reference inlined")
def _(draft: Draft) -> bool:
    node = draft.pick(lambda n: "$ref" in n)
    if node is None:
        return False
    target = draft.all[node["$ref"].rpartition("/")[2]]
    become(target)(node)
    return True


@op("inline object named")
def _(draft: Draft) -> bool:
    found = draft.members(lambda n, k, v: bool(v.get("properties")))
    if found:
        node, key = found
        draft.all["ZzzNamed"] = node["properties"][key]
        node["properties"][key] = draft.ref("ZzzNamed")
    return found is not None


@op("definition renamed")
def _(draft: Draft) -> bool:
    names = [n for n in sorted(draft.sent) if not n.endswith(("Request", "Notification", "Result")) and n not in ROOTS]
    old = draft.rng.choice(names)
    text = json.dumps(draft.tree).replace(f'/{old}"', f'/{old}Zzz"')
    tree = json.loads(text)
    tree[draft.container][f"{old}Zzz"] = tree[draft.container].pop(old)
    draft.tree.clear()
    draft.tree.update(tree)
    return True


@op("definitions swapped")
def _(draft: Draft) -> bool:
    names = [n for n in sorted(draft.sent) if n.endswith(("Content", "Contents", "Schema", "Annotations"))]
    a, b = draft.rng.sample(names, 2)
    draft.all[a], draft.all[b] = draft.all[b], draft.all[a]
    return True


# Messages


def _unlisted(name: str, *roots: str) -> None:
    def run(draft: Draft) -> bool:
        found = draft.messages(*roots)
        if found:
            root, message = draft.rng.choice(found)
            members = draft.all[root]["anyOf"]
            draft.all[root]["anyOf"] = [m for m in members if message not in references(m)]
        return bool(found)

    OPS[name] = run


_unlisted("request leaves its root union", *REQUESTS)
_unlisted("notification leaves its root union", *NOTIFICATIONS)


def _moved(name: str, roots: tuple[str, str], *, stays: bool) -> None:
    def run(draft: Draft) -> bool:
        found = [row for row in draft.messages(*roots) if len(draft.all[row[0]]["anyOf"]) > 1]
        found = [(r, m) for r, m in found if "anyOf" in draft.all.get(roots[r == roots[0]], {})]
        found = [(r, m) for r, m in found if m not in listed(draft.all, roots[r == roots[0]])]
        if not found:
            return False
        root, message = draft.rng.choice(found)
        if not stays:
            members = draft.all[root]["anyOf"]
            draft.all[root]["anyOf"] = [m for m in members if message not in references(m)]
        draft.all[roots[root == roots[0]]]["anyOf"].append(draft.ref(message))
        return True

    OPS[name] = run


_moved("request changes direction", ("ClientRequest", "ServerRequest"), stays=False)
_moved("notification changes direction", ("ClientNotification", "ServerNotification"), stays=False)
_moved("request in both directions", ("ClientRequest", "ServerRequest"), stays=True)


def _kind(name: str, source: str, target: str, *, is_request: bool) -> None:
    def run(draft: Draft) -> bool:
        everywhere = [name for root in (*REQUESTS, *NOTIFICATIONS) for name in listed(draft.all, root)]
        found = [m for _, m in draft.messages(source) if everywhere.count(m) == 1]
        if not found or "anyOf" not in draft.all.get(target, {}):
            return False
        message = draft.rng.choice(found)
        members = draft.all[source]["anyOf"]
        draft.all[source]["anyOf"] = [m for m in members if message not in references(m)]
        draft.all[target]["anyOf"].append(draft.ref(message))
        node = draft.all[message]
        if is_request:
            node["properties"]["id"] = {"type": ["string", "integer"]}
            node["required"] = [*node.get("required", ()), "id"]
        else:
            node["properties"].pop("id", None)
            node["required"] = [key for key in node.get("required", ()) if key != "id"]
        return True

    OPS[name] = run


_kind("notification becomes request", "ClientNotification", "ClientRequest", is_request=True)
_kind("server notification becomes request", "ServerNotification", "ServerRequest", is_request=True)
_kind("request becomes notification", "ClientRequest", "ClientNotification", is_request=False)


def _new(name: str, root: str, suffix: str) -> None:
    def run(draft: Draft) -> bool:
        if "anyOf" not in draft.all.get(root, {}):
            return False
        properties = {"method": {"const": "zzz/new", "type": "string"}, "params": {"type": "object"}}
        draft.all[f"Zzz{suffix}"] = {"type": "object", "properties": properties, "required": ["method"]}
        draft.all[root]["anyOf"].append(draft.ref(f"Zzz{suffix}"))
        return True

    OPS[name] = run


_new("new client request", "ClientRequest", "Request")
_new("new server request", "ServerRequest", "Request")
_new("new client notification", "ClientNotification", "Notification")


@op("method renamed")
def _(draft: Draft) -> bool:
    found = [m for _, m in draft.messages(*REQUESTS, *NOTIFICATIONS)]
    found = [
        m for m in found if draft.all[m]["properties"]["method"].get("const") not in ("initialize", "server/discover")
    ]
    if found:
        draft.all[draft.rng.choice(found)]["properties"]["method"]["const"] = "zzz/renamed"
    return bool(found)


# Results and errors


def _wrapper(name: str, change: Callable[[Draft, Json], bool]) -> None:
    """Register a class that changes the response of a request."""

    def run(draft: Draft) -> bool:
        requests = {m[:-7] for _, m in draft.messages(*REQUESTS)}
        found = [n for n in sorted(draft.all) if n.endswith("ResultResponse") and n[:-14] in requests]
        return bool(found) and change(draft, draft.all[draft.rng.choice(found)]["properties"])

    OPS[name] = run


def _other_result(draft: Draft, properties: Json) -> bool:
    properties["result"] = draft.ref(draft.rng.choice(["CompleteResult", "ListToolsResult", "ReadResourceResult"]))
    return True


def _another_form(draft: Draft, properties: Json) -> bool:
    if "anyOf" in properties["result"]:
        properties["result"]["anyOf"].pop(draft.rng.randrange(2))
    else:
        properties["result"] = {"anyOf": [properties["result"], draft.ref("InputRequiredResult")]}
    return True


_wrapper("response holds another result", _other_result)
_wrapper("response gains or loses a form", _another_form)


@op("result changed")
def _(draft: Draft) -> bool:
    """Change a result that a request gets among others."""
    name = draft.rng.choice(["CallToolResult", "ReadResourceResult", "GetPromptResult"])
    node = draft.all[name]
    keys = [k for k in node["properties"] if k not in ("_meta", "resultType")]
    key = draft.rng.choice(keys)
    match draft.rng.randrange(4):
        case 0:
            rename(node, key, "zzz")
        case 1:
            node["properties"][key] = {"type": "string", "maxLength": 3}
        case 2:
            node["required"] = [k for k in node.get("required", ()) if k != key]
        case _:
            node["required"] = sorted({*node.get("required", ()), key})
    return True


def _result_type(name: str, change: Callable[[Json], object]) -> None:
    def run(draft: Draft) -> bool:
        found = [d for n, d in sorted(draft.all.items()) if "resultType" in d.get("properties", {}) and n in draft.sent]
        if found:
            change(draft.rng.choice(found))
        return bool(found)

    OPS[name] = run


_result_type("resultType removed", lambda d: drop(d, "resultType"))
_result_type("resultType optional", lambda d: d.update(required=[k for k in d["required"] if k != "resultType"]))
_result_type("resultType constant", lambda d: d["properties"].update(resultType={"const": "complete"}))


def _codes(all_: Mapping[str, Json]) -> list[Json]:
    return [
        n
        for d in all_.values()
        for n in below(d)
        if isinstance(n.get("properties", {}).get("code", {}).get("const"), int)
    ]


@op("error codes swapped")
def _(draft: Draft) -> bool:
    found = _codes(draft.all)
    if len(found) < 2:
        return False
    a, b = (node["properties"]["code"] for node in draft.rng.sample(found, 2))
    a["const"], b["const"] = b["const"], a["const"]
    return True


@op("error data changed")
def _(draft: Draft) -> bool:
    found = [n for n in _codes(draft.all) if "data" in n["properties"]]
    if found:
        node = draft.rng.choice(found)
        node["properties"]["data"]["required"] = [*node["properties"]["data"].get("required", ()), "zzz"]
    return bool(found)


@op("request id")
def _(draft: Draft) -> bool:
    draft.all["RequestId"]["type"] = draft.rng.choice(["string", "integer", ["string", "integer", "null"]])
    return True


@op("error response")
def _(draft: Draft) -> bool:
    found = [n for n in draft.sent if n.startswith("JSONRPC") and "error" in draft.all[n].get("properties", {})]
    if found:
        draft.all[found[0]]["required"] = [*draft.all[found[0]].get("required", ()), "zzz"]
    return bool(found)


@op("method with two constants")
def _(draft: Draft) -> bool:
    found = draft.messages(*REQUESTS, *NOTIFICATIONS)
    nodes = [draft.all[name]["properties"]["method"] for _, name in found]
    node = draft.rng.choice([node for node in nodes if node.get("const") != "initialize"])
    node["enum"] = [node.pop("const"), "zzz/zzz"]
    return True


@op("message inline in its union")
def _(draft: Draft) -> bool:
    rows = [(root, name) for root, name in draft.messages(*REQUESTS, *NOTIFICATIONS) if _is_inlinable(draft, name)]
    if not rows:
        return False
    root, name = draft.rng.choice(rows)
    members = draft.all[root]["anyOf"]
    members[members.index(draft.ref(name))] = draft.all.pop(name)
    return True


def _is_inlinable(draft: Draft, name: str) -> bool:
    """Whether only a root union refers to a message, and its method tells the name of its result."""
    used = sum(list(references(node)).count(name) for node in draft.all.values())
    method = draft.all[name]["properties"]["method"].get("const", "").split("/")
    words = "".join(word[:1].upper() + word[1:] for word in reversed(method))
    has_result = f"{words}Result" in draft.all and f"{words}Request" == name
    return used == 1 and (has_result or name.endswith("Notification"))


def _of_error(name: str, change: Callable[[Json], None]) -> None:
    """Register a class that changes what all errors have, in one of its two forms."""

    def run(draft: Draft) -> bool:
        change(draft.all["Error"] if "Error" in draft.all else draft.all["JSONRPCError"]["properties"]["error"])
        return True

    OPS[name] = run


_of_error("error message bounded", lambda n: n["properties"]["message"].update(maxLength=50))
_of_error("error code bounded", lambda n: n["properties"]["code"].update(minimum=-32700))
_of_error("error message free", lambda n: n["required"].remove("message"))
_of_error("error property required", lambda n: n.update(required=[*n["required"], "zzz"]))
