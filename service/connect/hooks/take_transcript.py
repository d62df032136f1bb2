"""Takes what is new in a transcript to `/remember`, in a process of its own: the program that runs the hook never waits for it.

Nothing is taken twice. The position in a session's transcript is stored, and a batch is noted before it is sent: after a kill the
same lines go with the same Idempotency-Key. A resumed session may copy what was said before into a new file: ids of lines that
were taken are kept for each folder of transcripts. One process takes a session at a time; the next takes what came meanwhile.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePath
from typing import IO, Any
from urllib.parse import quote

from service.connect.address import Address, find_address
from service.connect.hooks.claude_code import file_name
from service.connect.hooks.http_post import Unanswered, post_json
from service.connect.hooks.log import write_log_line
from service.connect.hooks.transcript import Said, read_said
from service.connect.user_folders import UserFolders

MESSAGES_PER_REQUEST = 50  # messages of a request
ANSWER_SECONDS = 300.0  # for an answer: a language model may read each message
REFUSED = {400, 413, 422}  # what is sent again is refused again
SHORTENED = 16  # digits of a hash that tell lines apart
OWNERS_ALONE = 0o600


@dataclass(frozen=True)
class Session:
    """A session: its name, its transcript, and the category that its facts are filed under."""

    name: str
    transcript: Path
    category: str | None


def take_transcript(session: Session, places: UserFolders, *, ended: bool = False) -> None:
    """Take what is new, and end the session if it has ended. Raises Unanswered; then the next time takes it."""
    address, folder = find_address(places), places.state_folder / "hooks"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    seen = folder / f"{_shorten_text(str(session.transcript.parent))}.seen"
    progress = folder / f"{file_name(session.name)}.json"
    with hold_lock(folder / f"{_shorten_text(str(session.transcript.parent))}.lock"):
        known = _read_progress(progress, session.transcript)
        if known["until"] is not None:  # noted, and perhaps sent: the same again
            known = _send_new_lines(session, address, known, progress, seen)
        while (until := _next_end(session.transcript, known["from"])) is not None:
            known = _send_new_lines(session, address, {**known, "until": until}, progress, seen)
    if ended:
        post_json(address, f"/sessions/{quote(session.name, safe='')}/end", {}, ANSWER_SECONDS)


def project_category(folder: str) -> str | None:
    """The category of a project's facts: projects/ and the name of its folder; none for the home folder and roots."""
    name = PurePath(folder).name.strip() if folder else ""
    return f"projects/{name}"[:255] if name and Path(folder) != Path.home() else None


def _next_end(transcript: Path, start: int) -> int | None:
    """Where the next batch ends; None: there is nothing new."""
    said, end = read_said(transcript, start)
    if end == start:
        return None
    return said[MESSAGES_PER_REQUEST - 1].end if len(said) > MESSAGES_PER_REQUEST else end


def _send_new_lines(session: Session, address: Address, known: dict[str, Any], progress: Path, seen: Path) -> dict[str, Any]:
    """Send the lines that are noted, and note that they were."""
    _write_progress(progress, known)
    said, _ = read_said(session.transcript, known["from"], known["until"])
    taken = set(seen.read_text(encoding="ascii").split()) if seen.exists() else set()
    new = [one for one in said if _shorten_text(one.uuid) not in taken]
    if new:
        _post_messages(session, address, new, f"{session.transcript}:{known['from']}-{known['until']}", seen)
        with _open_private_file(seen, os.O_APPEND) as file:
            file.write("".join(f"{_shorten_text(one.uuid)}\n" for one in new))
    done = {**known, "from": known["until"], "until": None}
    _write_progress(progress, done)
    return done


def _post_messages(session: Session, address: Address, new: list[Said], lines: str, seen: Path) -> None:
    body = {"session": session.name, "messages": [one.as_message() for one in new]}
    body |= {name: value for name, value in (("category", session.category), ("user", address.user)) if value}
    try:
        post_json(
            address, "/remember", body, ANSWER_SECONDS, sha256(f"{session.name}:{lines}".encode("utf-8", "replace")).hexdigest()
        )
    except Unanswered as error:
        if error.status not in REFUSED:
            raise
        write_log_line(seen.parent.parent, f"not taken, {len(new)} messages of session {session.name}: {error}")


def _read_progress(path: Path, transcript: Path) -> dict[str, Any]:
    """How far a transcript was taken: from its beginning, where it is another file or has become shorter."""
    known: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        known = json.loads(path.read_text(encoding="utf-8"))
    if known.get("transcript") != str(transcript) or known.get("from", 0) > transcript.stat().st_size:
        return {"transcript": str(transcript), "from": 0, "until": None}
    return known


def _write_progress(path: Path, known: dict[str, Any]) -> None:
    partial = path.with_suffix(f".{os.getpid()}")
    with _open_private_file(partial, os.O_TRUNC) as file:
        json.dump(known, file)
    partial.replace(path)


def _open_private_file(path: Path, mode: int) -> IO[str]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | mode, OWNERS_ALONE), "w", encoding="utf-8")


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold a lock that a kill lets go."""
    with _open_private_file(path, 0) as file:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _shorten_text(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:SHORTENED]


def main() -> None:
    """Take the session that the arguments name."""
    places = UserFolders()
    name, transcript, folder, ended = sys.argv[1:]
    try:
        take_transcript(Session(name, Path(transcript), project_category(folder)), places, ended=bool(ended))
    except Exception as error:
        write_log_line(places.state_folder, f"session {name} is not taken yet: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
