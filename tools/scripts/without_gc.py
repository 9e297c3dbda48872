"""Runs a module without collecting garbage: in three quarters of the CPU time, where a program soon ends.

`python -m scripts.without_gc MODULE [ARGUMENT...]`
"""

import gc
import runpy
import sys

if __name__ == "__main__":
    gc.disable()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
