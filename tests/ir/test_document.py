"""The documentation of a definition comes from the input file, or from docs.toml if the file has none."""

from mcp_bindgen.ingest.revisions import read_docs
from mcp_bindgen.ir.document import DocBook, document, owners
from mcp_bindgen.ir.nodes import Protocol, Struct
from support.doc_keys import used_keys
from support.samples import HANDSHAKE_TS, load, typescript_source

BOOK = DocBook(read_docs("""
    [definitions]
    A = "Book on A."
    [properties."*"]
    everywhere = "Book on everywhere."
    [properties.Base]
    b = "Book on b."
    [properties.A]
    own = "Book on own."
    [properties.RequestParams]
    shared = "Book on shared."
    [constants]
    LIMIT = "Book on LIMIT."
    [revisions."2099-01-01".definitions]
    Base = "Book on Base of 2099."
    [revisions."2099-01-01".properties.A]
    own = "Book on own of 2099."
    [revisions."2098-01-01".definitions]
    A = "Book on A of 2098."
    """))
TEXT = """
interface Base { b?: string; everywhere?: string; said?: string }
interface A extends Base { own?: string; /** The file on x. */ x?: { y?: string } }
/** The file on B. */
interface B { b?: string }
const LIMIT = 5;
/** The file on MORE. */
const MORE = 6;
interface OneRequest { method: "one"; params: { shared?: string } }
interface OneResult {}
"""


def documented(revision: str = "2099-01-01") -> tuple[Protocol, tuple[str, ...]]:
    protocol, _ = load(typescript_source(HANDSHAKE_TS + TEXT), revision=revision)
    return document(protocol, BOOK)


def words(protocol: Protocol, name: str) -> dict[str, str]:
    struct = protocol.definitions[name]
    assert isinstance(struct, Struct)
    return {"": struct.doc} | {field.wire_name: field.doc for field in struct.fields}


def test_the_book_fills_the_gaps() -> None:
    protocol, _ = documented()
    assert words(protocol, "A") == {
        "": "Book on A.",
        "b": "Book on b.",
        "everywhere": "Book on everywhere.",
        "said": "",
        "own": "Book on own of 2099.",
        "x": "The file on x.",
    }
    assert words(protocol, "Base")[""] == "Book on Base of 2099."
    assert {c.name: c.doc for c in protocol.constants} == {"LIMIT": "Book on LIMIT.", "MORE": "The file on MORE."}


def test_a_line_of_another_revision_is_not_used() -> None:
    protocol, _ = documented("2098-01-01")
    assert words(protocol, "A")[""] == "Book on A of 2098."
    assert words(protocol, "A")["own"] == "Book on own."
    assert words(protocol, "Base")[""] == ""


def test_an_inline_object_is_described_by_its_property() -> None:
    assert words(documented()[0], "AX") == {"": "The file on x.", "y": ""}


def test_inline_params_share_the_lines_of_the_base_params() -> None:
    protocol, _ = documented()
    assert words(protocol, "OneRequestParams")["shared"] == "Book on shared."
    struct = protocol.definitions["OneRequestParams"]
    assert isinstance(struct, Struct)
    assert owners(struct, protocol) == ("OneRequestParams", "RequestParams")


def test_missing_descriptions_are_listed() -> None:
    _, missing = documented()
    assert {"Base.said", "A.said", "AX.y", "B.b", "OneRequest"} <= set(missing)
    assert not {"A", "A.own", "B", "LIMIT", "MORE", "AX"} & set(missing)


def test_used_lines_are_reported() -> None:
    protocol, _ = documented()
    assert {key for key in used_keys(protocol, BOOK) if key[0] != "definitions"} == {
        ("properties", "*", "everywhere"),
        ("properties", "Base", "b"),
        ("properties", "RequestParams", "shared"),
        ("constants", "LIMIT"),
        ("revisions", "2099-01-01", "definitions", "Base"),
        ("revisions", "2099-01-01", "properties", "A", "own"),
    }
