"""Models of requests and replies, by subject: `from loci.models import MemoryInput`, or `from loci.models.memories import …`.

A subject is loaded when a name of it is first asked for: all of them take a few hundred milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loci.models.access import *
    from loci.models.dreams import *
    from loci.models.facts import *
    from loci.models.graph import *
    from loci.models.hierarchy import *
    from loci.models.jobs import *
    from loci.models.memories import *
    from loci.models.messages import *
    from loci.models.models import *
    from loci.models.namespaces import *
    from loci.models.operations import *
    from loci.models.problems import *
    from loci.models.recall import *
    from loci.models.retain import *
    from loci.models.server import *
    from loci.models.sessions import *
    from loci.models.transfer import *
else:

    def __getattr__(name: str) -> object:
        """A model, from the subject that has it."""
        if not name.startswith("_"):
            for subject in SUBJECTS:
                if hasattr(found := import_module(f"{__name__}.{subject}"), name):
                    return getattr(found, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """All models and types of fields, which loads every subject."""
        loaded = [import_module(f"{__name__}.{subject}") for subject in SUBJECTS]
        return sorted({name for found in loaded for name, value in vars(found).items() if _is_ours(found.__name__, name, value)})

    def _is_ours(module: str, name: str, value: object) -> bool:
        return not name.startswith("_") and str(getattr(value, "__module__", None)).startswith(module)


SUBJECTS = (
    "access",
    "dreams",
    "facts",
    "graph",
    "hierarchy",
    "jobs",
    "memories",
    "messages",
    "models",
    "namespaces",
    "operations",
    "problems",
    "recall",
    "retain",
    "server",
    "sessions",
    "transfer",
)
