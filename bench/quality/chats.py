"""Question sets of what people really said, from two public sources: `python -m bench.quality.chats SOURCE FOLDER OUT`.

`molweni`: FOLDER holds test.json of Molweni's questions (Apache-2.0): help among strangers in Ubuntu's chat. Forty dialogues are a
namespace. `qmsum`: FOLDER holds meetings of QMSum (MIT), a JSON file each: design teams, researchers, committees of parliaments. A meeting
is a namespace, and only meetings of another series are foreign. OUT gets documents.jsonl and queries.jsonl, as `bench.recall_quality`
reads them. No text of these is part of the project.
"""

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.quality.sets import NEAR

Row = dict[str, Any]
DIALOGUES = 40  # of Molweni in a namespace
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
NOISE = re.compile(r"\s*\{[a-z]+\}|\s+(?=[.,?!])")
PER_SERIES = 5  # meetings of a series


def turn(namespace: str, number: int, speaker: str, text: str, session: int) -> Row:
    """A turn as a document, a minute after the one before."""
    at = (EPOCH + timedelta(days=session, minutes=number)).strftime("%Y-%m-%dT%H:%M:%S")
    return {"namespace": namespace, "id": str(number), "seq": number, "text": text, "timestamp": at, "session": session} | {
        "speaker": speaker
    }


def molweni(folder: Path) -> Iterator[Row]:
    """Documents and queries of Molweni; a question that the dialogue does not answer is a near miss."""
    dialogues: dict[str, list[Row]] = {}
    for dialogue in json.loads((folder / "test.json").read_text())["data"]["dialogues"]:
        dialogues.setdefault(dialogue["context"], []).append(dialogue)
    count = 0
    for session, same in enumerate(dialogues.values()):
        namespace, first = f"molweni-{session // DIALOGUES}", count
        for edu in same[0]["edus"]:
            yield turn(namespace, count, edu["speaker"], edu["text"], session)
            count += 1
        texts = [edu["text"].lower() for edu in same[0]["edus"]]
        for asked in {each["question"]: each for dialogue in same for each in dialogue["qas"]}.values():
            answers = [answer["text"].lower() for answer in asked["answers"]]
            evidence = [first + place for place, text in enumerate(texts) if any(answer in text for answer in answers)]
            if bool(evidence) != asked["is_impossible"]:
                kind = NEAR if asked["is_impossible"] else "answerable"
                yield question(namespace, asked["id"], asked["question"], kind, evidence)


def series(meeting: str) -> str:
    """The series of a meeting, by the letters that begin its name."""
    letters = meeting[:2].lower()
    return {"es": "design", "is": "design", "ts": "design", "be": "research", "bm": "research", "br": "research"}.get(
        letters, "committee"
    )


def qmsum(folder: Path) -> Iterator[Row]:
    """Documents and queries of some meetings of each series."""
    taken: dict[str, int] = {}
    for path in sorted(folder.glob("*.json")):
        of = series(path.stem)
        taken[of] = taken.get(of, 0) + 1
        if taken[of] > PER_SERIES:
            continue
        namespace, meeting = f"qmsum-{of}-{path.stem.lower()}", json.loads(path.read_text())
        for number, said in enumerate(meeting["meeting_transcripts"]):
            yield turn(namespace, number, said["speaker"], NOISE.sub("", said["content"]).strip() or "…", 0)
        for number, asked in enumerate(meeting["specific_query_list"]):
            spans = [range(int(start), int(end) + 1) for start, end in asked["relevant_text_span"]]
            yield question(
                namespace, f"{path.stem}-{number}", asked["query"], "answerable", [place for span in spans for place in span]
            )


def question(namespace: str, name: str, text: str, kind: str, evidence: list[int]) -> Row:
    """A query."""
    return {"namespace": namespace, "id": name, "text": text, "category": kind, "evidence_ids": [str(place) for place in evidence]}


def main() -> None:
    """Read, convert, write."""
    source, folder, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    rows = list({"molweni": molweni, "qmsum": qmsum}[source](folder))
    out.mkdir(parents=True, exist_ok=True)
    for name, key in (("documents", "seq"), ("queries", "category")):
        (out / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows if key in row))
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
