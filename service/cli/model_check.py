"""Check of the configured language model: a tiny question, and one call of each purpose."""

import asyncio
import math
import time
from dataclasses import dataclass

from db.health import Check
from service.cli.framework import first_line
from service.cli.model_trials import TRIALS, Trial
from service.llm.answer_parsing import Answer, read_answer
from service.llm.factory import make_model
from service.llm.model import ChatModel, Completion, InvalidAnswer, ModelError, Usage
from service.llm.prompts import BadPrompt, Prompts
from service.llm.schemas import schema_of, text_of
from service.models.calls import find_room
from service.settings import LLMSettings, Settings

TRIAL_SECONDS = 60.0  # for all trials, where nobody says how many
BEYOND = 3  # times its limit that a call is given, so as to hear what limit would do
SPARE = 1.5  # times what a call has taken that its limit should be


class Echo(Answer):
    """The prompt and the data of a trial."""

    word: str = text_of(50)


@dataclass(frozen=True)
class Result:
    """How a trial went; `fault`: why its answer is of no use; `heard`: tokens of one that was given up."""

    trial: Trial
    took: float
    completion: Completion | None = None
    fault: str | None = None
    given_up: bool = False
    heard: int = 0


async def check_model(settings: Settings, seconds: float = TRIAL_SECONDS) -> list[Check]:
    """Ask the model a tiny question and, for so many seconds in all, for each purpose once. No namespace's budget pays for it."""
    try:
        model = make_model(settings.llm)
        if model is None:
            return [Check("model", True, "none is configured; what needs one is not done")]
        try:
            checks = [await _answers_at_all(model, settings.llm)]
            if checks[0].ok and seconds > 0:
                checks += await _try_purposes(model, settings, seconds)
        finally:
            await model.close()
    except (ModelError, RuntimeError) as error:
        return [Check("model", False, first_line(error))]
    return checks


async def _answers_at_all(model: ChatModel, settings: LLMSettings) -> Check:
    """It answers a tiny question as it is asked to. Raises ModelError."""
    answer = await model.complete(
        [{"role": "system", "content": "Answer with one JSON object."}, {"role": "user", "content": "The word is: loci"}],
        schema=schema_of(Echo),
        title="doctor",
        deadline=settings.request_deadline,
    )
    read_answer(answer, Echo)
    context = (await model.measure()).context
    holds = f"a context of {context:,} tokens" if context else "a context that nobody states (LOCI_LLM__CONTEXT)"
    return Check("model", True, f"{model.name}, {answer.took_ms:,} ms, {holds}")


async def _try_purposes(model: ChatModel, settings: Settings, seconds: float) -> list[Check]:
    """A call of each purpose at the size that Loci sends, those first that somebody waits for, until the time is over."""
    until = time.monotonic() + seconds
    prompts = Prompts(settings.llm.prompts)
    checks: list[Check] = []
    for place, trial in enumerate(TRIALS):
        left = until - time.monotonic()
        if left <= 0:
            untried = ", ".join(trial.trial_name for trial in TRIALS[place:])
            return [*checks, Check("model time", True, f"{seconds:g} s were over before {untried}: try --model-seconds 600")]
        checks.append(_judge_trial(await _run_trial(model, settings.llm, trial, prompts, left), settings))
    return checks


async def _run_trial(model: ChatModel, settings: LLMSettings, trial: Trial, prompts: Prompts, left: float) -> Result:
    """Ask once, as a real call does."""
    started = time.monotonic()
    patience, usage = min(left, BEYOND * trial.limit_seconds(settings)), Usage()
    try:
        sizes = await model.measure()
        things = trial.count_fitting_things(prompts, sizes, settings)
        messages = trial.make_messages(prompts, things)
        find_room(messages, trial.answer, trial.numbers(things), sizes, settings)
        async with asyncio.timeout(patience):
            answer = await model.complete(
                messages,
                schema=trial.make_schema(prompts, things, sizes, settings.max_tokens),
                title=trial.purpose,
                deadline=patience + 1,
                usage=usage,
            )
    except TimeoutError:
        return Result(trial, time.monotonic() - started, given_up=True, heard=usage.completion_tokens or 0)
    except BadPrompt as error:
        return Result(trial, 0.0, fault=str(error))
    except ModelError as error:
        return Result(trial, time.monotonic() - started, error.completion, str(error))
    took = time.monotonic() - started
    try:
        await asyncio.to_thread(read_answer, answer, trial.answer)
    except InvalidAnswer as error:
        return Result(trial, took, answer, str(error))
    return Result(trial, took, answer)


def _judge_trial(result: Result, settings: Settings) -> Check:
    """Result of a trial: its speed, whether its limit can be kept, and what to set."""
    trial, name = result.trial, f"model {result.trial.trial_name}"
    limit = trial.limit_seconds(settings.llm)
    setting = f"LOCI_LLM__{trial.limit.upper()}"
    if result.given_up:
        late = result.took >= limit
        heard = f", {result.heard:,} tokens of one" if result.heard else ""
        said = f"no answer within {result.took:.0f} s, of {limit:g} ({setting}){heard}"
        return Check(
            name, not late, f"{said}: {_advise_settings(trial, None, settings)}" if late else f"{said}; try --model-seconds 600"
        )
    said = _describe_speed(result)
    if result.fault is not None:
        return Check(name, False, f"{said}: {result.fault}" if said else result.fault)
    if result.took > limit:
        return Check(name, False, f"{said}, more than {limit:g} ({setting}): {_advise_settings(trial, result.took, settings)}")
    return Check(name, True, said)


def _describe_speed(result: Result) -> str:
    """Tokens and seconds of a call, as far as the endpoint has counted."""
    completion = result.completion
    if completion is None:
        return ""
    prompt, said = completion.prompt_tokens, completion.completion_tokens
    if prompt is None or said is None:
        return f"{result.took:.1f} s, tokens not counted"
    return f"{prompt:,} tokens read and {said:,} written in {result.took:.1f} s, {said / max(result.took, 0.001):,.0f} a second"


def _advise_settings(trial: Trial, took: float | None, settings: Settings) -> str:
    """A setting that would give a purpose its answer, or what Loci does without one."""
    without = {"recall_deadline": "questions are searched as they are", "request_deadline": "rules decide"}.get(trial.limit)
    deadlines = settings.deadlines
    bound = {
        "recall_deadline": ("LOCI_DEADLINES__READ", deadlines.read),
        "request_deadline": ("LOCI_DEADLINES__MODEL", deadlines.model),
    }
    if took is None:
        return f"take a faster model; until then {without}" if without else "take a faster model, or raise it"
    needed = math.ceil(took * SPARE)
    name, most = bound.get(trial.limit, ("", math.inf))
    also = f" and {name} above it" if needed >= most else ""
    return f"set LOCI_LLM__{trial.limit.upper()}={needed}{also}" + (f", or {without}" if without else "")
