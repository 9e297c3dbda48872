"""Read schema/defaults.toml: the specification's defaults for absent required properties."""

import tomllib


def read_defaults(text: str) -> dict[str, str | int | float | bool]:
    """Read the value of each row of the file.

    Raises:
        ValueError: a row gives no reason.
    """
    rows = tomllib.loads(text)
    for name, row in rows.items():
        if not str(row.get("reason", "")).strip():
            raise ValueError(f"the default of {name} has no reason")
    return {name: row["value"] for name, row in rows.items()}
