"""A wrong field is told in the same words, whoever found it: what it must be."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, ValidationInfo, field_validator

from service.text.validation_messages import reword_validation


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str

    @field_validator("name")
    @classmethod
    def check(cls, value: str, _: ValidationInfo) -> str:
        if value == "blank":
            raise ValueError("must not be blank")
        return value


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Item, {}, "is required"),
        (Item, {"name": "x", "nmae": "y"}, "is no known field"),
        (Item, {"name": "blank"}, "must not be blank"),
        (Annotated[int, Field(le=3)], 9, "must be less than or equal to 3"),
        (Annotated[list[int], Field(min_length=1)], [], "must have at least 1 item, not 0"),
        (Annotated[str, Field(max_length=2)], "long", "must have at most 2 characters"),
        (Annotated[str, Field(pattern="^a+$")], "b", "must match pattern '^a+$'"),
        (Literal["reader", "writer"], "boss", "must be 'reader' or 'writer'"),
        (bool, "perhaps", "must be a valid boolean, unable to interpret input"),
    ],
)
def test_a_wrong_value_is_told_by_what_it_must_be(kind: Any, value: Any, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    assert [reword_validation(error["msg"]) for error in caught.value.errors()] == [said]
