"""Corrections that say only what is right ("Sorry, I meant a Saab."), completed by the statement that they correct."""

import re

_IT = r"(?:(?:it is|it['’]s|they are|es ist) )?"
_SMALL = r"(?:(?:in|on|at|to|from|for|by|um|am|nach|an?|the|my|einen?|eine[mr]?|de[rmn]|das|die) )*"
_MEANT = re.compile(
    r"(?P<lead>(?:[\w' ]{1,20}[,:] )?(?:(?P<meant>(?:i meant?|make (?:that|it)|ich meinte?)(?: to say)?)|"
    rf"sorry|oops|no|nein|wait|actually|correction|korrektur))[,:]? {_IT}{_SMALL}(?P<new>[^,;!?]{{1,40}}?)[.!]?",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    rf"(?:no, |nein, )?{_IT}(?:not|nicht) {_SMALL}(?P<old>[^,.;!?]{{1,40}}?)[,;]? (?:but |sondern )?{_IT}{_SMALL}"
    r"(?P<new>[^\s,.;!?]+(?: [^\s,.;!?]+)?)[.!]?",
    re.IGNORECASE,
)
_BUT_NOT = re.compile(
    rf"{_SMALL}(?P<new>[^\s,.;!?]+(?: [^\s,.;!?]+)?), (?:not|nicht) {_SMALL}(?P<old>[^,.;!?]{{1,40}})[.!]?", re.IGNORECASE
)
_NUMBER = r"\d+(?:[.:,/]\d+)*"
_MEASURE = re.compile(rf"{_NUMBER}(?P<unit>(?: ?[^\W\d]\w*\.?)?)")
_NAME = r"[^\W\d_a-z]\w+(?: [^\W\d_a-z]\w+)*"
_NAMES = re.compile(_NAME), re.compile(rf"(?<=\s){_NAME}")
_THINGS = re.compile(r"\w+"), re.compile(r"(?:(?<=\ba )|(?<=\ban )|(?<=\bthe )|(?<=\bein )|(?<=\beinen )|(?<=\beine ))\w+")
_READ_CHARACTERS = 300  # characters of a statement that is completed
_ENDS = ".!"


def complete_correction(said: str, before: str) -> str | None:
    """A correction with what it leaves out, from the statement before it; None: it leaves nothing out, or it is not sure what."""
    if len(before) > _READ_CHARACTERS or len(said) > _READ_CHARACTERS:
        return None
    if (named := _NOT_BUT.fullmatch(said) or _BUT_NOT.fullmatch(said)) is not None:
        old = re.compile(rf"(?<!\w){re.escape(named['old'])}(?!\w)", re.IGNORECASE)
        right = _replace_slot(before, old, named["new"])
        return None if right is None else f"{right.rstrip(_ENDS)}, not {named['old']}."
    if (meant := _MEANT.fullmatch(said)) is None or (slot := _find_slot_pattern(meant["new"], surely=bool(meant["meant"]))) is None:
        return None
    right = _replace_slot(before, slot, meant["new"])
    return None if right is None else f"{meant['lead']}: {right}"


def _find_slot_pattern(new: str, *, surely: bool) -> re.Pattern[str] | None:
    """Values of the same kind that may be wrong: a number or time with its unit, a name, or in a sure correction a thing."""
    if (measure := _MEASURE.fullmatch(new)) is not None:
        return re.compile(rf"(?<![\w.:]){_NUMBER}{re.escape(measure['unit'])}(?!\w)", re.IGNORECASE)
    return next((wrong for right, wrong in (_NAMES, _THINGS)[: 1 + surely] if right.fullmatch(new)), None)


def _replace_slot(before: str, slot: re.Pattern[str], new: str) -> str | None:
    """A statement with its one value of a kind replaced."""
    found = slot.findall(before)
    return slot.sub(lambda _: new, before) if len(found) == 1 and found[0].lower() != new.lower() else None
