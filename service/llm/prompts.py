"""Prompts: text files, each of which an operator may replace by a file of the same name (`LOCI_LLM__PROMPTS`)."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

# The package in which each of them stands.
NAMES = {
    "dream.md": "service.dreams",  # consolidation of memories
    "pref-dream.md": "service.dreams",  # inference of preferences
    "entity-dream.md": "service.dreams",  # extraction of entities
    "graph-consolidation-dream.md": "service.dreams",  # cleaning up the graph
    "memory-rules.md": "service.dreams",  # enrichment of a memory as it is saved
    "retain.md": "service.retain",
    "reflect.md": "service.retain",
    "settle.md": "service.retain",
    "contradictions.md": "service.dreams",
    "decompose.md": "service.recall",  # rewriting of a question into its parts
    "hypothetical.md": "service.recall",  # an answer to a question that is made up
    "data.md": "service.llm",  # said before every one of them: what follows is data
}
LARGEST_PROMPT_BYTES = 100_000  # bytes


class BadPrompt(Exception):
    """A prompt of the operator's cannot be used; the message says which and why."""

    final = True  # a job that needs it waits until it is mended


@dataclass(frozen=True)
class Prompts:
    """The prompts in force."""

    folder: Path | None = None

    def read_prompt(self, name: str) -> str:
        """The text of a prompt: the operator's, else our own. Raises BadPrompt."""
        path = self.find_own_file(name)
        if path is None:
            return files(NAMES[name]).joinpath("prompts", name).read_text(encoding="utf-8").strip()
        try:
            content = path.read_bytes()
            text = content.decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            kind = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise BadPrompt(f"the prompt {path} cannot be read: {kind}") from None
        if not text or len(content) > LARGEST_PROMPT_BYTES:
            raise BadPrompt(f"the prompt {path} is {'empty' if not text else f'longer than {LARGEST_PROMPT_BYTES} bytes'}")
        return text

    def find_own_file(self, name: str) -> Path | None:
        """The operator's file of a prompt; None: there is none."""
        if name not in NAMES:
            raise KeyError(name)
        path = self.folder / name if self.folder is not None else None
        return path if path is not None and (path.exists() or path.is_symlink()) else None

    def check_folder(self) -> list[str]:
        """Names of files in the operator's folder that are no prompts. Raises BadPrompt for what cannot be used."""
        if self.folder is None:
            return []
        try:
            found = sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("."))
        except OSError as error:
            raise BadPrompt(f"the folder of prompts {self.folder} (LOCI_LLM__PROMPTS) cannot be read: {error.strerror}") from None
        for name in set(found) & set(NAMES):
            self.read_prompt(name)
        return [name for name in found if name not in NAMES]


def check_folder(prompts: Prompts) -> list[str]:
    """Oddities of a folder of prompts, in sentences. Raises BadPrompt."""
    unknown = prompts.check_folder()
    if not unknown:
        return []
    return [f"{prompts.folder} holds files that are no prompts: {', '.join(unknown[:10])}; prompts are {', '.join(NAMES)}"]
