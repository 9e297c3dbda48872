"""Names that are unique among all servers, and the search for tools."""

import random
import re

from mcp_runtime.host.catalogue import public_name, search, tool_of


def test_names_are_what_models_accept_and_no_two_tools_share_one(cases: int) -> None:
    dice = random.Random(1)
    alphabet = ("a", "b", "_", "__", "-", ".", "é", "A", "0123456789abcdef")
    pairs = {tuple("".join(dice.choices(alphabet, k=dice.randint(1, 30))) for _ in "st") for _ in range(cases * 20)}
    # What a server could choose to look like another tool.
    pairs |= {
        ("s", public_name("s", "x.y").removeprefix("s__")),
        ("a__b", "c"),
        ("a", "b__c"),
        ("a_", "b"),
        ("a", "_b"),
    }
    names = {public_name(*pair) for pair in pairs}
    assert len(names) == len(pairs)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)


def test_a_plain_name_stays_readable() -> None:
    assert public_name("github", "create_issue") == "github__create_issue"
    assert re.fullmatch(r"github__create_issue_[0-9a-f]{16}", public_name("github", "create issue"))
    assert re.fullmatch(r"my_server__x_[0-9a-f]{16}", public_name("my server", "x"))


def test_search_ranks_by_words_of_names_and_descriptions() -> None:
    texts = {
        "read_file": "Read a file.",
        "writeFile": "Write text to a file.",
        "list": "List folders.",
        "x": "Reading rooms.",
    }
    tools = [tool_of("fs", {"name": name, "description": text}) for name, text in texts.items()]
    assert [tool.tool for tool in search(tools, "read file", 10)] == ["read_file", "writeFile"]
    assert search(tools, "file", 1)[0].tool in ("read_file", "writeFile")
    assert search(tools, "nothing of this", 10) == []
    assert search([], "file", 10) == []
