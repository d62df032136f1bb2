"""Transfer: what an import has written."""

from pydantic import BaseModel, Field


class Imported(BaseModel):
    """What an import has written, by kind of line."""

    namespace: str = Field(description="Name of the namespace")
    created: bool = Field(description="Whether the namespace was made for it")
    kept: list[str] = Field(description="Where the namespace differs from the file")
    vectors: str | None = Field(description="Why those of the file were left out, if they were")
    written: dict[str, int] = Field(description="Lines that were written, by kind")
    unchanged: dict[str, int] = Field(description="Lines that were there already, by kind")
    lines: int = Field(description="Lines that were read")
    seconds: float = Field(description="Seconds that it took")
