"""What `loci` starts with: hooks, which others wait for, load nothing of the other commands."""

import sys


def main() -> None:
    """Run a hook, or the command line."""
    if sys.argv[1:] == ["hook", "claude-code"]:
        from service.connect.hooks.claude_code import main as hook

        hook()
        return
    from service.cli.main import main as commands

    commands()
