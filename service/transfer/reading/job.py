"""Orders for a process that reads an import: which file it has open, what is in it, and its limits."""

from dataclasses import dataclass

AUTO, LINES, LOCI = "auto", "lines", "loci"


@dataclass(frozen=True)
class Job:
    """A file to be read. `format`: its name, or AUTO; limits in bytes, and seconds of a processor."""

    file: int
    format: str
    folder: str
    memory: int
    seconds: int
    output: int
