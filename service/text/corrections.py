"""Corrections that say only what is right ("Sorry, I meant a Saab."), completed by the statement that they correct."""

import re

_SMALL = r"(?:(?:in|on|at|to|from|for|by|um|am|nach|an?|the|my|einen?|eine[mr]?|de[rmn]|das|die) )*"
_MEANT = re.compile(
    r"(?P<lead>(?:[\w' ]{1,20}[,:] )?(?:(?P<meant>(?:i meant?|make (?:that|it)|ich meinte?)(?: to say)?)|"
    rf"sorry|oops|no|nein|wait|correction|korrektur))[,:]? {_SMALL}(?P<new>[^,;!?]{{1,40}}?)[.!]?",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    rf"(?:no, |nein, )?(?:not|nicht) {_SMALL}(?P<old>[^,.;!?]{{1,40}}?)[,;]? (?:but |sondern )?{_SMALL}"
    r"(?P<new>[^\s,.;!?]+(?: [^\s,.;!?]+)?)[.!]?",
    re.IGNORECASE,
)
_BUT_NOT = re.compile(
    rf"{_SMALL}(?P<new>[^\s,.;!?]+(?: [^\s,.;!?]+)?), (?:not|nicht) {_SMALL}(?P<old>[^,.;!?]{{1,40}})[.!]?", re.IGNORECASE
)
_KINDS = (  # what is right, and what of its kind may be wrong: a number or time, a name, a thing
    (number := re.compile(r"\d+(?:[.:,/]\d+)*(?: ?[ap]\.?m\b\.?)?"), number),
    (re.compile(name := r"[^\W\d_a-z]\w+(?: [^\W\d_a-z]\w+)*"), re.compile(rf"(?<=\s){name}")),
    (re.compile(r"\w+"), re.compile(r"(?<=\ba )\w+|(?<=\ban )\w+|(?<=\bthe )\w+|(?<=\bein )\w+|(?<=\beinen )\w+|(?<=\beine )\w+")),
)
_ENDS = ".!"


def completed(said: str, before: str) -> str | None:
    """A correction with what it leaves out, from the statement before it; None: it leaves nothing out, or it is not sure what."""
    if (named := _NOT_BUT.fullmatch(said) or _BUT_NOT.fullmatch(said)) is not None:
        old = re.compile(rf"(?<!\w){re.escape(named['old'])}(?!\w)", re.IGNORECASE)
        right = _replaced(before, old, named["new"])
        return None if right is None else f"{right.rstrip(_ENDS)}, not {named['old']}."
    if (meant := _MEANT.fullmatch(said)) is None:
        return None
    slot = next((wrong for right, wrong in _KINDS[: None if meant["meant"] else 2] if right.fullmatch(meant["new"])), None)
    right = None if slot is None else _replaced(before, slot, meant["new"])
    return None if right is None else f"{meant['lead']}: {right}"


def _replaced(before: str, slot: re.Pattern[str], new: str) -> str | None:
    """A statement with its one value of a kind replaced."""
    found = slot.findall(before)
    return slot.sub(lambda _: new, before) if len(found) == 1 and found[0].lower() != new.lower() else None
