"""Run a command, and copy the traffic in both directions to files: python tee.py FROM-CLIENT FROM-SERVER COMMAND..."""

import os
import subprocess
import sys
import threading


def copy(source: int, target: int, path: str) -> None:
    """Copy until the end of input, to a file as well."""
    with open(path, "wb", buffering=0) as file:
        while data := os.read(source, 1 << 16):
            file.write(data)
            left = memoryview(data)
            while left:
                left = left[os.write(target, left) :]
    os.close(target)


def main() -> None:
    """Run the command."""
    first, second, *command = sys.argv[1:]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        into = os.dup(process.stdin.fileno())
        process.stdin.close()
        threading.Thread(target=copy, args=(0, into, first), daemon=True).start()
        copy(process.stdout.fileno(), 1, second)


if __name__ == "__main__":
    main()
