"""The ratios of the last full run, in a file of the project: what moved since is said. Times are of a machine, ratios are of the code."""

import json
from collections.abc import Sequence
from pathlib import Path

from bench.measure import Figure

FILE = Path(__file__).parent / "data" / "ratios.json"
MOVED = 0.15  # of a ratio, up or down


def changes(figures: Sequence[Figure], kept: dict[str, float]) -> list[str]:
    """A line for each figure whose ratio is more than 15 % off the one that is kept."""
    return [
        f"{figure.name}: {kept[figure.name]:.2f} before, {figure.ratio:.2f} now"
        for figure in figures
        if figure.ratio is not None and figure.name in kept and abs(figure.ratio - kept[figure.name]) > MOVED * kept[figure.name]
    ]


def compare(figures: Sequence[Figure], *, quick: bool, file: Path = FILE) -> None:
    """Print what moved; a full run is kept in place of the one before. A quick one measures something else, and is not compared."""
    if quick:
        return
    kept: dict[str, float] = json.loads(file.read_text()) if file.exists() else {}
    moved = changes(figures, kept)
    print("\n".join(["moved by more than 15 % since the last full run:", *moved]) if moved else "no ratio moved by more than 15 %")
    kept |= {figure.name: round(figure.ratio, 3) for figure in figures if figure.ratio is not None}
    file.write_text(json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False) + "\n")
