"""Serve the App or Server of a Python file: ``python -m mcp_runtime server.py --http``."""

import sys

from mcp_runtime.app.program import serve_file

sys.exit(serve_file(sys.argv[1:]))
