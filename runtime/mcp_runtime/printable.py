"""Text of others, made safe for a terminal and for a log."""


def printable(text: str) -> str:
    """Make text that came from elsewhere safe for a terminal: control and bidirectional characters become escapes."""
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode("ascii") for ch in text)
