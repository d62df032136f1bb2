"""How much of a model's window do the lists of tools take?

    python -m bench.tool_tokens

Of each profile: how many tools there are, tokens of the whole reply to tools/list, tokens of what a client hands to its model (name,
description and schema of each), and UTF-8 bytes over four beside that. Tokens are those of the tokenizer in the wheel of wordllama
(Llama 2's, 32,000 words): newer models have larger vocabularies, and count less. `reference-memory` is word for word the list of the
reference memory server, so its row is that server's.
"""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from service.mcp.profiles.catalogue import PROFILES
from service.mcp.profiles.profile import Profile
from service.mcp.server import listed_tools

TARGET = 4000  # of the whole reply, all tools of Loci


@cache
def _tokenizer() -> Tokenizer:
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise RuntimeError("the package wordllama is not installed")
    return Tokenizer.from_file(str(Path(spec.origin).parent / "tokenizers" / "l2_supercat_tokenizer_config.json"))


def written(value: Any) -> str:
    """JSON as it is sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def count_tokens(text: str) -> int:
    """Tokens of a text."""
    return len(_tokenizer().encode(text, add_special_tokens=False).ids)


def reply_of(profile: Profile) -> list[dict[str, Any]]:
    """The tools of a profile as they are listed."""
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed_tools(profile)]


def sizes(profile: Profile) -> dict[str, int]:
    """How much the list of a profile takes."""
    tools = reply_of(profile)
    whole = written({"tools": tools})
    model = written([{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in tools])
    return {
        "tools": len(tools),
        "tokens": count_tokens(whole),
        "tokens for the model": count_tokens(model),
        "bytes / 4": len(whole.encode()) // 4,
    }


def main() -> None:
    """Print a row for each profile."""
    rows = {name: sizes(profile) for name, profile in PROFILES.items()}
    columns = list(next(iter(rows.values())))
    print(f"{'profile':18}" + "".join(f"{column:>22}" for column in columns))
    for name, row in rows.items():
        print(f"{name:18}" + "".join(f"{row[column]:>22,}" for column in columns))
    print(f"target: at most {TARGET:,} tokens of all tools of Loci")


if __name__ == "__main__":
    main()
