"""Names of the objects that the files declare, so that tests can be parametrised before a database exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FUNCTIONS = sorted(path.stem for path in ROOT.glob("sql/functions/*.sql"))
VIEWS = sorted(path.stem for path in ROOT.glob("sql/views/*.sql"))
_SCHEMA = "\n".join(path.read_text() for path in sorted(ROOT.glob("migrations/schema/*.sql")))
TABLES = sorted(set(re.findall(r"^create (?:unlogged )?table loci_data\.(\w+)", _SCHEMA, re.MULTILINE)))
RELATIONS = [*(f"loci_data.{name}" for name in TABLES), *(f"loci.{name}" for name in VIEWS)]
PARTITIONS = [f"loci_data.{table}_{n:02}" for table in ("memory_texts", "memory_vectors", "entity_vectors") for n in (0, 7, 15)]
TRIGGERS = sorted(
    name
    for path in ROOT.glob("sql/triggers/*.sql")
    for name in re.findall(r"^create (?:or replace|constraint) trigger (\w+)", path.read_text(), re.MULTILINE)
)
SUBJECTS = re.findall(
    r"^\| `(\w+)` \|", (ROOT / "docs" / "architecture.md").read_text().split("## Subjects")[1].split("\n## ")[0], re.MULTILINE
)
