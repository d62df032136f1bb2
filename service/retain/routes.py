"""Retain and reflect: decisions about facts and places."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi.responses import Response

from loci.models.retain import Reflect, ReflectOut, Remember, RememberOut, Retain, RetainOut
from service.http.caller import Caller, CallerDependency, Work
from service.http.documented_problems import document_problems
from service.http.large_bodies import Router
from service.paging import parse_position
from service.retain import messages, reflection, retain_text

router = Router(tags=["retain"])


@router.post("/retain", response_model=RetainOut, responses=document_problems(409, 410))
async def retain(body: Retain, caller: CallerDependency) -> Response:
    """Take in a text: each fact becomes a memory, a new version of one, a linked one, or reinforces what is known.

    All or nothing. A later fact of the text sees the earlier ones. In doubt a fact becomes a memory of its own.
    A language model decides where one is configured (`decide`); what it gives no usable answer to, rules decide.
    """
    if not body.dry_run and (kept := await caller.find_replay()) is not None:
        return kept
    return await retain_text.retain_text(
        caller.state.resources,
        body.details(),
        body.decide,
        read=_choose_reader(caller, dry_run=body.dry_run),
        write=_choose_writer(caller, dry_run=body.dry_run),
        dry_run=body.dry_run,
    )


@router.post("/remember", response_model=RememberOut, responses=document_problems(409, 410))
async def remember(body: Remember, caller: CallerDependency) -> Response:
    """Take in messages of a conversation: they become turns of its session, and what is told in them is retained, fact by fact.

    Messages are what OpenAI, Anthropic and LangChain have: a role, and a text or parts. Questions, small talk and requests are no
    facts. Facts have the speaker as their source; what an assistant says ends nothing that others told. All or nothing.
    """
    if not body.dry_run and (kept := await caller.find_replay()) is not None:
        return kept
    return await messages.remember_messages(
        caller.state.resources,
        body,
        read=_choose_reader(caller, dry_run=body.dry_run),
        write=_choose_writer(caller, dry_run=body.dry_run),
    )


@router.post("/reflect", response_model=ReflectOut, responses=document_problems(409, 410))
async def reflect(body: Reflect, caller: CallerDependency) -> Response:
    """Give facts and episodes that stand nowhere a place under a concept, and link what is related.

    A category that several share gets a concept if it has none. A second run changes nothing. A language model helps where one is
    configured (`decide`): it sees up to 100 memories of a page, and rules stand behind it.
    """
    if not body.dry_run and (kept := await caller.find_replay()) is not None:
        return kept
    page = reflection.Page(body.limit, body.category, parse_position(body.cursor))
    return await reflection.reflect_page(
        caller.state.resources,
        page,
        body.decide,
        read=_choose_reader(caller, dry_run=body.dry_run),
        write=_choose_writer(caller, dry_run=body.dry_run),
        dry_run=body.dry_run,
    )


def _choose_reader(caller: Caller, *, dry_run: bool) -> Callable[[Work], Awaitable[Any]]:
    return lambda work: caller.read(work, role="writer", creates=not dry_run)


def _choose_writer(caller: Caller, *, dry_run: bool) -> Callable[[Work], Awaitable[Response]]:
    """No reply is kept of a dry run: it would hold a text that no memory leads to."""
    return lambda work: caller.write(work, dry_run=dry_run)
