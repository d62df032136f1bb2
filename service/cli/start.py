"""What `loci` starts with: a hook, which another program waits for, loads nothing of the other commands."""

import os
import sys


def main() -> None:
    """Run a hook, or the command line."""
    if sys.argv[1:] == ["hook", "claude-code"]:
        from service.connect.hooks.claude_code import main as hook

        hook()
        os._exit(0)  # without taking modules down, and without a thread that still waits
    from service.cli.main import main as commands

    commands()
