"""`loci`, which `python -m service.cli` is too."""

import os
import sys


def main() -> None:
    """Run the command line. A version, and a hook that another program waits for, load nothing of the other commands."""
    if sys.argv[1:] == ["--version"]:
        from loci.version import __version__

        sys.stdout.write(f"loci {__version__}\n")
        return
    if sys.argv[1:] == ["hook", "claude-code"]:
        from service.connect.hooks.claude_code import main as hook

        hook()
        os._exit(0)  # without taking modules down, and without a thread that still waits
    from service.cli.loading import pause_garbage_collector

    with pause_garbage_collector():
        from service.cli.main import main as run
    run()


if __name__ == "__main__":
    main()
