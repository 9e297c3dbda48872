"""Makes untrusted text safe for terminals and logs."""


def printable(text: str) -> str:
    """Make untrusted text safe to print: control and bidirectional characters become escapes."""
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode("ascii") for ch in text)
