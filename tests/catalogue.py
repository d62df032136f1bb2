"""Names of the objects that the files declare, so that tests can be parametrised before a database exists."""

import os
import re
from pathlib import Path

from migrations.sql_files import declared

ROOT = Path(__file__).parents[1]
PYTHONPATH = os.pathsep.join([str(ROOT), str(ROOT / "client")])  # of processes that tests start
SCHEMAS = ("loci", "loci_api", "loci_internal")
OBJECTS = declared()
FUNCTIONS = sorted({item.name for item in OBJECTS if item.kind in ("function", "aggregate")})  # with their schemas
VIEWS = sorted(item.name.removeprefix("loci.") for item in OBJECTS if item.kind == "view")
TRIGGERS = sorted(item.name.split(".")[-1] for item in OBJECTS if item.kind == "trigger")
_SCHEMA = "\n".join(
    path.read_text() for path in [*sorted(ROOT.glob("migrations/schema/*.sql")), *sorted(ROOT.glob("migrations/versions/*.py"))]
)
TABLES = sorted(set(re.findall(r"^create (?:unlogged )?table loci_data\.(\w+)", _SCHEMA, re.MULTILINE)))
RELATIONS = [*(f"loci_data.{name}" for name in TABLES), *(f"loci.{name}" for name in VIEWS)]
PARTITIONS = [f"loci_data.{table}_{n:02}" for table in ("memory_texts", "memory_vectors", "entity_vectors") for n in (0, 7, 15)]
_LIST = (ROOT / "docs" / "START.md").read_text().partition("\n## The 14 subjects\n\n")[2].partition("\n\n")[0]
SUBJECTS = [each.split()[0] for each in _LIST.split("·")]  # the words that name the rooms of every layer
