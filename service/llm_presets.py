"""Settings for servers of language models, by their names: `LOCI_LLM__PRESET`. Each of it can be set otherwise."""

from typing import Any, Literal, get_args

Preset = Literal["ollama", "llamacpp", "vllm", "lmstudio", "openai", "anthropic", "google"]

_NO_THOUGHTS = {"chat_template_kwargs": {"enable_thinking": False}}  # templates that know no such word pass it over
SETTINGS: dict[str, dict[str, Any]] = {
    "ollama": {"endpoint": "http://localhost:11434/v1", "concurrency": 1, "extra": {"reasoning_effort": "none"}},
    "llamacpp": {"endpoint": "http://localhost:8080/v1", "model": "default", "concurrency": 1, "extra": _NO_THOUGHTS},
    "vllm": {"endpoint": "http://localhost:8000/v1", "concurrency": 8, "extra": _NO_THOUGHTS},
    "lmstudio": {"endpoint": "http://localhost:1234/v1", "concurrency": 4},
    "openai": {"endpoint": "https://api.openai.com/v1"},
    "anthropic": {"endpoint": "https://api.anthropic.com/v1", "format": "none"},  # it passes response_format over
    # Its newer models cannot do without thinking.
    "google": {
        "endpoint": "https://generativelanguage.googleapis.com/v1beta/openai",
        "extra": {"reasoning_effort": "low"},
    },
}
assert set(SETTINGS) == set(get_args(Preset))  # noqa: S101 (each has its settings)
MODELS = {  # where the names of models are found, for presets without one
    "ollama": "`ollama list` names them",
    "vllm": "the one that it serves",
    "lmstudio": "`lms ls` names them",
    "anthropic": "such as claude-haiku-4-5",
    "google": "such as gemini-3-flash",
}


def with_preset(given: Any) -> Any:
    """Settings as they were given, and those of the preset that they name where they say nothing.

    Raises ValueError for a preset that has no model of its own where none is named.
    """
    if not isinstance(given, dict) or given.get("preset") not in SETTINGS:
        return given
    name = given["preset"]
    if "model" not in given and name in MODELS:
        raise ValueError(f"the preset {name} needs the name of a model in LOCI_LLM__MODEL: {MODELS[name]}")
    return {**SETTINGS[name], **given}
