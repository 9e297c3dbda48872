"""A server with skills: each folder below examples/skills that has a SKILL.md."""

import argparse
from pathlib import Path

from mcp_bindings import App
from mcp_runtime.extensions.skills import Skills

app = App("handbook", version="1.0", extensions=[Skills(Path(__file__).with_name("skills"))])

if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    app.run()
