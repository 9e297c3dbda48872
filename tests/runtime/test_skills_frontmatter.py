"""The frontmatter of a SKILL.md is read by the core schema of YAML 1.2."""

import json
from typing import Any

import pytest

from mcp_runtime.extensions.skills.frontmatter import read_frontmatter


def bomb() -> str:
    lines = [f"{b}: &{b} [{','.join(['*' + a] * 10)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)]
    return "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(lines)


class TestFrontmatter:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("yes", "yes"),
            ("on", "on"),
            ("2026-01-01", "2026-01-01"),
            ("12:30", "12:30"),
            ("0o17", 15),
            ("017", 17),
            ("0x1F", 31),
            ("1_000", "1_000"),
            ("1e3", 1000.0),
            ("-null", "-null"),
            ("~", None),
            ("", None),
            ("TRUE", True),
            ("'1'", "1"),
            ("!!str 1", "1"),
            ("[a, {b: 1}]", ["a", {"b": 1}]),
            ("<<", "<<"),
        ],
    )
    def test_values_follow_the_core_schema(self, text: str, value: Any) -> None:
        found = read_frontmatter(f"---\nx: {text}\n---\n".encode())["x"]
        assert json.dumps(found) == json.dumps(value)

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("x: .inf", "/x: JSON has no number .inf"),
            ("x:\n  y: [1, -.INF]", "/x/y/1: JSON has no number -.INF"),
            ("x: 1e999", "/x: JSON has no number 1e999"),
            ("x: 1\nx: 2", "'x' is there twice"),
            ("? [a]\n: 1", "is not a string"),
            ("- a", "not a mapping"),
            ("x: [", "not YAML"),
            ("x: *y", "not YAML"),
            ("a: &a [*a]", "more than 64 levels"),
            pytest.param("x: " + "[" * 60_000, "not YAML", marks=pytest.mark.slow),
            ("x: " + "a" * 70_000, "of at most 65,536"),
            (bomb(), "more than 10,000 values"),
        ],
    )
    def test_what_json_cannot_express_is_refused(self, text: str, reason: str) -> None:
        with pytest.raises(ValueError, match=r"YAML|frontmatter|JSON|twice") as caught:
            read_frontmatter(f"---\n{text}\n---\n".encode())
        assert reason in str(caught.value) and len(str(caught.value)) < 400

    @pytest.mark.parametrize("data", [b"", b"name: x", b"---\nname: x\n", b"\xff\xfe", b"---\n\xff\n---\n"])
    def test_a_file_without_it_is_refused(self, data: bytes) -> None:
        with pytest.raises(ValueError, match="frontmatter"):
            read_frontmatter(data)
