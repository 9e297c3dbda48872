"""One cold run of a generator in its own process: prints as JSON the CPU seconds of all, of black alone, and the lines.

    generate_child.py ours|peer FOLDER

ours: `mcp-bindgen generate` as the command runs it, imports included. peer: datamodel-code-generator on the shipped
schemas. Black alone is the share of its import and its calls.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def ours(folder: Path) -> None:
    from mcp_bindgen.cli.run import run

    status = run(["generate", "--quiet", "--out", str(folder), "--package", "bindings"])
    if status:
        sys.exit(status)


def peer(folder: Path) -> None:
    from datamodel_code_generator import InputFileType, PythonVersion, generate
    from datamodel_code_generator.enums import DataModelType

    for schema in sorted((ROOT / "schema").glob("*/schema.json")):
        target = folder / f"{schema.parent.name.replace('-', '_')}.py"
        target.parent.mkdir(parents=True, exist_ok=True)
        generate(
            schema,
            input_file_type=InputFileType.JsonSchema,
            output=target,
            output_model_type=DataModelType.PydanticV2BaseModel,
            target_python_version=PythonVersion.PY_311,
        )


def main() -> None:
    side: Callable[[Path], None] = {"ours": ours, "peer": peer}[sys.argv[1]]
    folder = Path(sys.argv[2])
    bare = process_time()
    import black

    in_black, format_str = process_time() - bare, black.format_str

    def timed(*arguments: Any, **more: Any) -> str:
        nonlocal in_black
        start = process_time()
        try:
            return format_str(*arguments, **more)
        finally:
            in_black += process_time() - start

    black.format_str = timed
    side(folder)
    whole = process_time()
    lines = sum(path.read_text("utf-8").count("\n") for path in folder.rglob("*.py"))
    print(json.dumps({"whole": whole, "black": in_black, "lines": lines}))


if __name__ == "__main__":
    main()
