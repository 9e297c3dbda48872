"""The rows of schema/defaults.toml: what the specification assumes if a required property of a result is absent."""

import pytest

from mcp_bindgen.ingest.revisions import read_rows, shipped_source
from mcp_bindgen.ingest.sources import SourceKind
from mcp_bindgen.ir.facts import result_tag, result_tags
from mcp_bindgen.load.protocol import default_rows, load_released
from support.samples import LEGACY, REVISIONS, load

MODERN = "2026-07-28"


def test_no_row_is_stale() -> None:
    places = {place for revision in REVISIONS for place in load_released(revision).defaults}
    used = {row for row in default_rows() if any(row in (place, place.partition(".")[2]) for place in places)}
    assert used == default_rows().keys()


@pytest.mark.parametrize("revision", LEGACY)
def test_the_legacy_era_has_none(revision: str) -> None:
    protocol = load_released(revision)
    assert protocol.defaults == {} and result_tag(protocol) == ""
    assert not any(result_tags(protocol, method) for method in protocol.methods)


def test_every_result_of_the_modern_era_has_a_tag() -> None:
    protocol = load_released(MODERN)
    assert result_tag(protocol) == "resultType"
    assert {method.name: result_tags(protocol, method) for method in protocol.methods if method.alternatives} == (
        dict.fromkeys(("prompts/get", "resources/read", "tools/call"), ("complete", "input_required"))
    )
    assert protocol.defaults["InputRequiredResult.resultType"] == "input_required"
    assert protocol.defaults["ListToolsResult.ttlMs"] == 0
    assert "ElicitResult.resultType" not in protocol.defaults


def test_the_schema_json_alone_has_the_same_defaults() -> None:
    protocol, _ = load(shipped_source(MODERN, SourceKind.JSON_SCHEMA))
    assert protocol.defaults == load_released(MODERN).defaults


def test_a_row_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="the default of resultType has no reason"):
        read_rows("[resultType]\nvalue = 'complete'\n", "value", "default")
