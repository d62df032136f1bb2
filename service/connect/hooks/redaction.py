"""Secrets are left out of what hooks send.

They are told by their form, not by lists of who issues them: a private key by its frame; what stands behind a name for a
secret; the password of an address; and a run of letters and digits as random as no word is. In doubt something is left out: a
hash is lost, a key is not. detect-secrets, the kept library, has a list for each issuer, and loads longer than a hook may run.
"""

import re
from itertools import pairwise

LEFT_OUT = "[left out]"
_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
_FRAMED = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_NAMED = re.compile(
    r"""(?P<name>[\w-]*(?:passw(?:or)?d|passphrase|passwort|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key)s?
        ["'`]?(?:\s*(?:=>?|:)\s*["'`]?|\s+(?:is|ist)\s+["'`]?(?=\S*[^\sa-z.,;!?])))(?P<value>[^\s"'`,;]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_AUTHORIZATION = re.compile(r"(?P<name>\b(?:Bearer|Basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"(?P<name>\b[a-z][a-z0-9+.-]*://[^\s/@:]*:)[^\s/@]+(?=@)", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9_+-]{20,}={0,2}")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{32,}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SEPARATORS = re.compile(r"[_+=-]+")
# Places in a run where it goes on with another kind (of small, capital, digit), and where letters meet digits.
# Random ones have 0.6 and 0.25; names in camel case have below 0.3 and 0.1.
CHANGES, MEETINGS = 0.35, 0.12
LEAST_MEETINGS = 4


def redact_secrets(text: str) -> str:
    """A text without secrets, and without what stands between <private> and </private>."""
    text = _PRIVATE.sub(LEFT_OUT, text)
    text = _FRAMED.sub(LEFT_OUT, text)
    for pattern in (_NAMED, _AUTHORIZATION, _IN_ADDRESS):
        text = pattern.sub(rf"\g<name>{LEFT_OUT}", text)
    return _RUN.sub(lambda run: LEFT_OUT if _is_random(run[0]) else run[0], text)


def _is_random(run: str) -> bool:
    """Whether a run is as random as a key, so that it is no name and no word."""
    if _UUID.fullmatch(run):
        return False
    letters = _SEPARATORS.sub("", run)
    kinds = ["digit" if each.isdigit() else "upper" if each.isupper() else "lower" for each in letters]
    changes = [(one, other) for one, other in pairwise(kinds) if one != other]
    meetings = sum("digit" in change for change in changes)
    mixes = meetings > 0 and len(changes) >= CHANGES * len(letters)
    return mixes or meetings >= max(LEAST_MEETINGS, MEETINGS * len(letters)) or _HEX.fullmatch(letters) is not None
