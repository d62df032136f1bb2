"""Problems: what is wrong with a request, inside of replies."""

from pydantic import BaseModel, Field


class FieldProblem(BaseModel):
    """One field that is wrong."""

    field: str = Field(description="Path of the field, such as items[3].confidence")
    message: str = Field(description="What is wrong, and what was expected")


class ItemProblem(BaseModel):
    """A problem document inside a reply."""

    type: str = Field(examples=["urn:loci:problem:invalid-request"], description="URI of the kind of problem")
    title: str = Field(description="What kind of problem it is, in words")
    status: int = Field(description="HTTP status")
    detail: str = Field(description="What is wrong, and what was expected")
    errors: list[FieldProblem] = Field(default=[], description="Fields that are wrong")
    hint: str | None = Field(default=None, description="What to do about it")
