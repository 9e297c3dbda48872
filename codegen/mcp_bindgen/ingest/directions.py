"""Read schema/directions.toml: who sends a message that no root union names."""

import tomllib


def read_directions(text: str) -> dict[str, str]:
    """Read the direction of each method in the file.

    Raises:
        ValueError: a row gives no reason.
    """
    rows = tomllib.loads(text)
    for method, row in rows.items():
        if not str(row.get("reason", "")).strip():
            raise ValueError(f"the direction of {method} has no reason")
    return {method: str(row["direction"]) for method, row in rows.items()}
