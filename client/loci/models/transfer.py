"""Transfer: what an import has written."""

from pydantic import BaseModel, Field


class Imported(BaseModel):
    """What an import has written, by kind of line."""

    namespace: str
    created: bool
    kept: list[str] = Field(description="Where the namespace differs from the file")
    vectors: str | None = Field(description="Why those of the file were left out, if they were")
    written: dict[str, int]
    unchanged: dict[str, int]
    lines: int
    seconds: float
