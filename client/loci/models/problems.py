"""Problems: what is wrong with a request, inside of replies."""

from pydantic import BaseModel, Field


class FieldProblem(BaseModel):
    """One field that is wrong."""

    field: str = Field(description="Path of the field, such as items[3].confidence")
    message: str = Field(description="What is wrong, and what was expected")


class ItemProblem(BaseModel):
    """A problem document inside a reply."""

    type: str = Field(examples=["urn:loci:problem:invalid-request"])
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = []
    hint: str | None = None
