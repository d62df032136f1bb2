"""Errors that a model can act on: what was wrong, with which argument, what was expected, and what to do instead.

REST names its own fields. A tool's error names the tool's parameters.
"""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from service.mcp.result_texts import format_value
from service.mcp.tool import Arguments, schema_of
from service.text.validation_messages import reword_validation

MISSING, UNAUTHORIZED = 404, 401
CONNECTION = "the namespace of this connection"  # a field `namespace` of REST; tools call a prefix of keys so


def explain_problem(problem: dict[str, Any], renamed: Mapping[str, str], missing: str) -> str:
    """The text of a problem document, in the words of a tool whose parameters have these names."""
    errors = problem.get("errors", [])
    said = [_word_one_field(error["field"], error["message"], renamed) for error in errors] or [
        _rename_in_sentence(problem.get("detail", ""), renamed)
    ]
    hints = [problem.get("hint"), missing if problem.get("status") == MISSING and not _of_namespace(errors) else None]
    if problem.get("status") == UNAUTHORIZED:
        hints = ["This connection needs a valid API key; whoever set it up has to give it one."]
    text = format_value(f"{problem.get('title', 'Error')}: {'; '.join(dict.fromkeys(said)).rstrip('.')}.")
    if request := problem.get("request_id") if problem.get("status", 0) >= 500 else None:  # noqa: PLR2004
        text += f" (request {request})"
    return "\n".join([text, *[format_value(_rename_in_sentence(hint, renamed)) for hint in hints if hint]])


def explain_plainly_to_profiles(problem: dict[str, Any]) -> str:
    """The text of a problem document in profiles of other servers: the sentence, and what to do."""
    if problem.get("status") == UNAUTHORIZED:
        return explain_problem(problem, {}, "")
    return "\n".join(format_value(text, text=True, longest=None) for text in (problem.get("detail"), problem.get("hint")) if text)


def wrong_arguments(error: ValidationError, arguments: type[Arguments]) -> str:
    """Errors of arguments before REST has seen them, and the arguments that the tool takes."""
    schema = schema_of(arguments)
    known = [name if name in schema.get("required", []) else f"{name}?" for name in schema["properties"]]
    said = "; ".join(_word_wrong_parameter(e["loc"], e["msg"]) for e in error.errors()[:5])
    return f"Invalid arguments: {said}.\nThe tool takes: {', '.join(known) or 'nothing'}."


def _word_wrong_parameter(location: tuple[int | str, ...], message: str) -> str:
    name = ".".join(map(str, location))
    said = reword_validation(message)
    return f"{name}: {said}" if name else said


def _of_namespace(errors: list[dict[str, Any]]) -> bool:
    return any(error["field"] == "namespace" for error in errors)


def _word_one_field(field: str, message: str, renamed: Mapping[str, str]) -> str:
    """One wrong field: its name, unless the message has it, and the message."""
    name = CONNECTION if field == "namespace" else _rename_field(field, renamed)
    text = _rename_in_sentence(message, renamed)
    return text if re.search(rf"\b{re.escape(name)}\b", text) or field == "namespace" else f"{name}: {text}"


def _rename_field(field: str, renamed: Mapping[str, str]) -> str:
    """The parameter behind a field of REST: filters.tags[0] is tags[0], start[0] is startEntity."""
    for theirs, ours in renamed.items():
        if field == theirs or field.startswith((theirs + "[", theirs + ".")):
            return ours + field[len(theirs) :]
    return field


def _rename_in_sentence(text: str, renamed: Mapping[str, str]) -> str:
    """A sentence with the parameters' names: wherever a name can be nothing else, else only where the sentence begins with it."""
    for theirs, ours in renamed.items():
        anywhere = re.search(r"[_.\[]", theirs)
        text = re.sub(rf"(?<![\w.]){re.escape(theirs)}(?!\w)" if anywhere else rf"^{re.escape(theirs)}(?=[\s:])", ours, text)
    return text
