"""Messages of pydantic about wrong values, in the words of all other errors: what a value must be."""

import re

SUBJECT = re.compile(r"^\w+ should ")  # Input, String, List: the field is named before
WHOLE = {"Field required": "is required", "Extra inputs are not permitted": "is no known field"}


def reword_validation(message: str) -> str:
    """A message of pydantic without its own subject: `Input should be less than 3` is `must be less than 3`."""
    message = message.removeprefix("Value error, ")
    return WHOLE.get(message) or SUBJECT.sub("must ", message).replace(" after validation", "")
