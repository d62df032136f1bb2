"""`loci hook claude-code` brings context in and takes the conversation, quickly and privately, and never fails the program that runs it."""

import io
import json
import os
import random
import string
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from service.cli.service_address import NAMES
from service.connect.hooks import claude_code, http_post, take_transcript
from service.connect.hooks.http_post import Unanswered
from service.connect.hooks.log import write_log_line
from service.connect.hooks.redaction import LEFT_OUT, redact_secrets
from service.connect.hooks.take_transcript import Session, project_category
from service.connect.hooks.transcript import read_said
from service.connect.user_folders import UserFolders
from tests.databases import Database
from tests.services import PATIENCE, eventually, serve

pytestmark = pytest.mark.row("CLI")

Json = dict[str, Any]
NOTHING = ("", "")  # stdout, stderr


class Loci:
    """A service that notes what it is asked, and answers as it is told to."""

    def __init__(self) -> None:
        self.asked: list[Json] = []
        self.answer: Callable[[str], tuple[int, bytes]] = lambda _: (200, b'{"text": "Rosa lives in Braga"}')
        self.held, self.let_go = threading.Event(), threading.Event()
        self.let_go.set()
        loci = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                loci.asked.append({"path": self.path, "body": body, "headers": dict(self.headers)})
                loci.held.set()
                loci.let_go.wait(PATIENCE)
                status, content = loci.answer(self.path)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def told(self) -> list[str]:
        """Contents of the messages that it was given."""
        return [each["content"] for one in self.asked if one["path"] == "/api/v1/remember" for each in one["body"]["messages"]]


@pytest.fixture
def loci() -> Iterator[Loci]:
    made = Loci()
    threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield made
    made.let_go.set()
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loci: Loci) -> UserFolders:
    """A home folder of its own, and the service in the environment."""
    for name in (*NAMES, "XDG_STATE_HOME", "XDG_CONFIG_HOME", "LOCI_PORT", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCI_URL", loci.url)
    monkeypatch.setattr(claude_code, "LEAST_SECONDS", PATIENCE)  # a slow machine fails no test
    return UserFolders(home=tmp_path)


def log_of(places: UserFolders) -> str:
    path = places.state_folder / "hooks.log"
    return path.read_text() if path.exists() else ""


def prompt(text: str, **more: Any) -> Json:
    return {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": text, "cwd": "/work/rocket", **more}


def line(role: str, content: Any, uuid: str, **more: Any) -> Json:
    """A line of a transcript."""
    entry = {"type": role, "message": {"role": role, "content": content}, "uuid": uuid, "sessionId": "s1", "isSidechain": False}
    return {**entry, "timestamp": "2026-11-20T10:00:00.000Z", **more}


def texts(*parts: str) -> list[Json]:
    return [{"type": "text", "text": part} for part in parts]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / ".claude" / "projects" / "-work-rocket" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def add(path: Path, *lines: Json) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(each) + "\n" for each in lines)


def taken(path: Path, places: UserFolders, **more: Any) -> None:
    take_transcript.take_transcript(Session(path.stem, path, "projects/rocket"), places, **more)


def run(given: Json | bytes, places: UserFolders, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The hook as Claude Code runs it."""
    content = given if isinstance(given, bytes) else json.dumps(given).encode()
    known = {**os.environ, "HOME": str(places.home), **environment}
    command = [sys.executable, "-m", "service.cli", "hook", "claude-code"]
    return subprocess.run(command, check=False, input=content, capture_output=True, env=known)


# Context


@pytest.mark.parametrize(
    "given", [prompt("Where does Rosa live?"), {"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"}]
)
def test_context_is_put_before_the_model(
    given: Json, places: UserFolders, loci: Loci, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    claude_code.answer_hook(given, places)
    said = json.loads(capsysbinary.readouterr().out)["hookSpecificOutput"]
    assert said["hookEventName"] == given["hook_event_name"]
    assert said["additionalContext"].endswith("Rosa lives in Braga")
    (asked,) = loci.asked
    assert (asked["path"], asked["body"]["session_id"], asked["body"].get("message")) == (
        "/api/v1/context",
        "s1",
        given.get("prompt"),
    )
    assert asked["body"]["repeat"] is False
    assert "turns" not in asked["body"]["sections"]


@pytest.mark.parametrize(
    "given",
    [
        prompt("/compact"),
        prompt("  "),
        prompt(""),
        {**prompt(""), "prompt": None},
        {**prompt("x"), "hook_event_name": "PreToolUse"},
    ],
)
def test_a_hook_without_a_question_asks_nothing(
    given: Json, places: UserFolders, loci: Loci, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    claude_code.answer_hook(given, places)
    assert (loci.asked, capsysbinary.readouterr().out) == ([], b"")


def test_a_hook_without_context_prints_nothing(places: UserFolders, loci: Loci, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    loci.answer = lambda _: (200, b'{"text": ""}')
    claude_code.answer_hook(prompt("Hello"), places)
    assert capsysbinary.readouterr().out == b""


@pytest.mark.parametrize(("source", "repeat"), [("startup", False), ("resume", False), ("compact", True), ("clear", True)])
def test_memories_lost_by_a_compaction_are_shown_again(source: str, repeat: bool, places: UserFolders, loci: Loci) -> None:
    claude_code.answer_hook({"hook_event_name": "SessionStart", "session_id": "s1", "source": source}, places)
    assert loci.asked[0]["body"]["repeat"] is repeat


def test_a_late_context_is_shown_with_the_next(places: UserFolders, loci: Loci, monkeypatch: pytest.MonkeyPatch) -> None:
    loci.let_go.clear()
    monkeypatch.setattr(claude_code, "LEAST_SECONDS", 0.05)
    with pytest.raises(Unanswered, match=r"no answer from|timed out"):
        claude_code.answer_hook(prompt("Where does Rosa live?"), places)
    loci.let_go.set()
    monkeypatch.setattr(claude_code, "LEAST_SECONDS", PATIENCE)
    for _ in range(2):
        claude_code.answer_hook(prompt("And now?"), places)
    assert [one["body"]["repeat"] for one in loci.asked] == [False, True, False]


def test_the_key_the_namespace_and_the_user_go_along(places: UserFolders, loci: Loci, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LOCI_KEY": "loci_k", "LOCI_NAMESPACE": "équipe", "LOCI_USER": "rosa"}.items():
        monkeypatch.setenv(name, value)
    claude_code.answer_hook(prompt("Hello"), places)
    headers = loci.asked[0]["headers"]
    assert (headers["Authorization"], headers["X-User"], headers["User-Agent"]) == ("Bearer loci_k", "rosa", "loci-hook")
    assert headers["X-Namespace"].encode("latin-1").decode() == "équipe"


# It never fails or holds up the program


def test_it_loads_nothing_that_takes_long(places: UserFolders, transcript: Path) -> None:
    code = """
import os, sys

def leave(status):
    print(*sys.modules, file=sys.stderr)
    sys.exit(status)

os._exit, sys.argv = leave, ["loci", "hook", "claude-code"]
from service.cli.__main__ import main
main()
"""
    stop = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": str(transcript), "cwd": "/work/rocket"}
    for given in (prompt("Hello"), stop):
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, input=json.dumps(given).encode(), capture_output=True, env=os.environ
        )
        loaded = set(done.stderr.decode().split())
        assert "service.connect.hooks.claude_code" in loaded
        heavy = {
            "httpx",
            "pydantic",
            "typer",
            "psycopg",
            "orjson",
            "dotenv",
            "asyncio",
            "dataclasses",
            "loci",
            "service.settings",
            "service.cli.main",
        }
        assert loaded & heavy == set()


def broken(loci: Loci, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Loci be down, hang, or answer wrongly."""
    if kind == "down":
        monkeypatch.setenv("LOCI_URL", "http://127.0.0.1:9")
    elif kind == "no address":
        monkeypatch.setenv("LOCI_URL", "127.0.0.1:8420")
    elif kind == "hangs":
        monkeypatch.setattr(claude_code, "LEAST_SECONDS", 0.05)
        loci.let_go.clear()
    else:
        status, content = {"fails": (500, b""), "refuses": (401, b'{"detail": "invalid API key"}'), "babbles": (200, b"<html>")}[
            kind
        ]
        loci.answer = lambda _: (status, content)


@pytest.mark.parametrize("kind", ["down", "no address", "hangs", "fails", "refuses", "babbles"])
def test_without_a_service_that_answers_it_is_silent_and_ends_well(
    kind: str, places: UserFolders, loci: Loci, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    broken(loci, kind, monkeypatch)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(prompt("My hobby is chess")).encode())))
    claude_code.main()
    assert capsysbinary.readouterr() == (b"", b"")
    assert "Unanswered" in log_of(places)
    assert "chess" not in log_of(places)


@pytest.mark.parametrize(
    "given",
    [b"", b"null", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"hook_event_name": "Stop"}', b'{"session_id": 1}', b'{"session_id": "s", "hook_event_name": "Stop"}'],
)  # fmt: skip
def test_rubbish_on_stdin_is_noted_and_ends_well(
    given: bytes, places: UserFolders, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given)))
    claude_code.main()
    assert capsysbinary.readouterr() == (b"", b"")
    assert log_of(places).count("\n") == 1


def test_as_a_process_it_ends_with_nothing_to_say_where_nothing_works(places: UserFolders, tmp_path: Path) -> None:
    (tmp_path / ".local").touch()  # nor can it write its log
    done = run(b"\xff", places, LOCI_URL="http://127.0.0.1:9")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_program_does_not_wait_while_the_conversation_is_taken(places: UserFolders, loci: Loci, transcript: Path) -> None:
    loci.let_go.clear()
    add(transcript, line("user", "I live in Braga.", "u1"))
    stop = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": str(transcript), "cwd": "/work/rocket"}
    done = run(stop, places)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert loci.held.wait(PATIENCE)  # it is being taken, and nobody has answered
    loci.let_go.set()
    eventually(
        lambda: (
            (places.state_folder / "hooks" / "s1.json").exists()
            and '"until": null' in (places.state_folder / "hooks" / "s1.json").read_text()
        )
    )
    assert loci.told() == ["I live in Braga."]


def test_the_log_begins_anew_before_it_is_large(places: UserFolders) -> None:
    places.state_folder.mkdir(parents=True)
    path = places.state_folder / "hooks.log"
    path.write_text("x" * 300_000)
    write_log_line(places.state_folder, "one\nline")
    assert path.read_text().endswith(" one line\n")
    assert path.with_suffix(".log.1").stat().st_size == 300_000


# The conversation


def test_words_of_the_user_and_last_words_of_the_assistant_are_taken(transcript: Path) -> None:
    add(
        transcript,
        {"type": "summary", "summary": "A chat", "leafUuid": "x"},
        line("user", "<command-name>/model</command-name>\n<command-message>model</command-message>", "c"),
        line("user", "Caveat: this was made by a command", "m", isMeta=True),
        line("user", "I live in Braga. Fix the build.", "u1"),
        line("assistant", [{"type": "thinking", "thinking": "hm"}], "a0"),
        line("assistant", texts("Let me look."), "a1"),
        line("assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "make"}}], "a2"),
        line("user", [{"type": "tool_result", "tool_use_id": "t", "content": "error: secret output"}], "r"),
        line("assistant", texts("The subagent's words"), "s", isSidechain=True),
        line("assistant", texts("The build is green."), "a3"),
        line("user", texts("Thanks.", "We deploy on Fridays.<system-reminder>note</system-reminder>"), "u2"),
        line("user", "This session is being continued from another.", "k", isCompactSummary=True),
        line("user", "[Request interrupted by user]", "i"),
    )
    said, end = read_said(transcript, 0)
    assert [(one.role, one.content) for one in said] == [
        ("user", "I live in Braga. Fix the build."),
        ("assistant", "The build is green."),
        ("user", "Thanks.\nWe deploy on Fridays."),
    ]
    assert end == transcript.stat().st_size
    assert said[0].as_message()["said_at"] == "2026-11-20T10:00:00.000Z"


@pytest.mark.parametrize(
    "rubbish", [b"\n", b"not json\n", b"[]\n", b"\xff\n", b'{"type": "user"}\n', b'{"type": "user", "message": {"content": 5}}\n']
)
def test_lines_that_say_nothing_are_passed_over(rubbish: bytes, transcript: Path) -> None:
    transcript.write_bytes(rubbish + json.dumps(line("user", "Hello", "u")).encode() + b"\n")
    assert [one.content for one in read_said(transcript, 0)[0]] == ["Hello"]


def test_a_hook_sends_only_new_and_complete_lines(places: UserFolders, loci: Loci, transcript: Path) -> None:
    add(transcript, line("user", "One", "1"), line("assistant", texts("Two"), "2"))
    taken(transcript, places)
    taken(transcript, places)
    whole = json.dumps(line("user", "Three", "3"))
    with transcript.open("a") as file:
        file.write(whole[:30])
    taken(transcript, places)
    assert loci.told() == ["One", "Two"]
    with transcript.open("a") as file:
        file.write(whole[30:] + "\n")
    taken(transcript, places)
    assert loci.told() == ["One", "Two", "Three"]
    assert {one["body"]["session"] for one in loci.asked} == {"s1"}
    assert {one["body"]["category"] for one in loci.asked} == {"projects/rocket"}


def test_a_resumed_session_in_a_new_file_takes_only_what_is_new(places: UserFolders, loci: Loci, transcript: Path) -> None:
    lines = [line("user", f"Message {n}", f"id-{n}") for n in range(5)]
    add(transcript, *lines)
    taken(transcript, places)
    resumed = transcript.with_name("s2.jsonl")
    add(resumed, *({**each, "sessionId": "s2"} for each in lines), line("user", "New", "id-new"))
    taken(resumed, places)
    assert loci.told() == [*(f"Message {n}" for n in range(5)), "New"]
    assert loci.asked[-1]["body"]["session"] == "s2"


def test_a_transcript_that_begins_anew_is_taken_from_its_beginning(places: UserFolders, loci: Loci, transcript: Path) -> None:
    add(transcript, line("user", "A long message from before", "1"))
    taken(transcript, places)
    transcript.write_text("")
    add(transcript, line("user", "Short", "2"))
    taken(transcript, places)
    assert loci.told() == ["A long message from before", "Short"]


def test_many_messages_go_in_batches_in_order_and_once(places: UserFolders, loci: Loci, transcript: Path) -> None:
    wanted = [f"Message {n}" for n in range(take_transcript.MESSAGES_PER_REQUEST * 2 + 7)]
    add(transcript, *(line("user", text, text) for text in wanted))
    taken(transcript, places)
    assert loci.told() == wanted
    assert [len(one["body"]["messages"]) for one in loci.asked] == [
        take_transcript.MESSAGES_PER_REQUEST,
        take_transcript.MESSAGES_PER_REQUEST,
        7,
    ]


def test_two_hooks_at_once_take_everything_once(places: UserFolders, loci: Loci, transcript: Path) -> None:
    wanted = [f"Message {n}" for n in range(30)]
    add(transcript, *(line("user", text, text) for text in wanted))
    command = [sys.executable, "-m", "service.connect.hooks.take_transcript", "s1", str(transcript), "/work/rocket", ""]
    for process in [subprocess.Popen(command) for _ in range(3)]:
        assert process.wait(PATIENCE) == 0
    assert (loci.told(), log_of(places)) == (wanted, "")


def test_messages_in_flight_at_a_kill_are_sent_again_under_the_same_key(
    places: UserFolders, loci: Loci, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(transcript, line("user", "One", "1"))
    with monkeypatch.context() as patch:
        sent = http_post.post_json

        def killed(*arguments: Any) -> None:
            sent(*arguments)
            raise KeyboardInterrupt

        patch.setattr(take_transcript, "post_json", killed)
        with pytest.raises(KeyboardInterrupt):
            taken(transcript, places)
    add(transcript, line("user", "Two", "2"))
    taken(transcript, places)
    first, again, more = loci.asked
    assert first["body"] == again["body"]
    assert first["headers"]["Idempotency-Key"] == again["headers"]["Idempotency-Key"] != more["headers"]["Idempotency-Key"]
    assert [each["content"] for each in more["body"]["messages"]] == ["Two"]


@pytest.mark.parametrize("kind", ["down", "fails", "refuses"])
def test_missed_messages_are_taken_the_next_time(
    kind: str, places: UserFolders, loci: Loci, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(transcript, line("user", "One", "1"))
    with monkeypatch.context() as patch:
        broken(loci, kind, patch)
        with pytest.raises(Unanswered):
            taken(transcript, places)
    loci.asked.clear()
    loci.answer = lambda _: (200, b"{}")
    taken(transcript, places)
    assert loci.told() == ["One"]


def test_a_permanent_refusal_is_noted_and_does_not_hold_up_the_rest(places: UserFolders, loci: Loci, transcript: Path) -> None:
    loci.answer = lambda _: (422, b'{"detail": "messages[0]: too long"}')
    add(transcript, line("user", "One", "1"))
    taken(transcript, places)
    assert "not taken, 1 messages of session s1" in log_of(places)
    loci.answer = lambda _: (200, b"{}")
    add(transcript, line("user", "Two", "2"))
    taken(transcript, places)
    assert loci.told() == ["One", "Two"]


def test_the_end_of_a_session_ends_it_when_all_is_taken(places: UserFolders, loci: Loci, transcript: Path) -> None:
    add(transcript, line("user", "One", "1"))
    taken(transcript, places, ended=True)
    assert [one["path"] for one in loci.asked] == ["/api/v1/remember", "/api/v1/sessions/s1/end"]


@pytest.mark.parametrize(("root", "cwd"), [("", "/work/rocket"), ("/work/rocket", "/work/rocket/src/parts")])
@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd"])
def test_moments_that_take_start_a_process_of_its_own(
    event: str, root: str, cwd: str, places: UserFolders, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", root)
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: started.append((command, options)))
    given = {"hook_event_name": event, "session_id": "s1", "transcript_path": str(transcript), "cwd": cwd}
    claude_code.answer_hook(given, places)
    ((command, options),) = started
    assert command[3:] == ["s1", str(transcript), "/work/rocket", "ended" if event == "SessionEnd" else ""]
    assert options["stdout"] == options["stderr"] == options["stdin"] == subprocess.DEVNULL
    assert options.get("start_new_session") or options.get("creationflags")


@pytest.mark.parametrize(
    ("folder", "category"),
    [("/work/rocket", "projects/rocket"), ("/work/Mein Projekt", "projects/Mein Projekt"), ("/", None), ("", None), ("~", None)],
)
def test_a_projects_folder_is_its_category(folder: str, category: str | None) -> None:
    assert project_category(str(Path.home()) if folder == "~" else folder) == category


@pytest.mark.parametrize("session", ["../../etc/passwd", "a/b", "", "x" * 500, "ü", "\ud800"])
def test_a_session_names_no_file_elsewhere(session: str) -> None:
    assert all(each.isascii() and (each.isalnum() or each == "-") for each in claude_code.file_name(session) or "-")
    assert len(claude_code.file_name(session)) <= 500


# Secrets


def random_key(alphabet: str, length: int, seed: int) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


BASE62, BASE64, HEX = string.ascii_letters + string.digits, string.ascii_letters + string.digits + "_-", "0123456789abcdef"


@pytest.mark.parametrize("alphabet", [BASE62, BASE64, HEX, string.ascii_lowercase + string.digits])
@pytest.mark.parametrize("length", [36, 48, 64])
@pytest.mark.parametrize("before", ["", "ghp_", "sk-ant-api03-", "xoxb-2112-", "AKIA", "glpat-", "loci_"])
def test_keys_as_random_as_keys_are_left_out(alphabet: str, length: int, before: str) -> None:
    kept = [
        key for seed in range(20) if (key := before + random_key(alphabet, length, seed)) in redact_secrets(f"Use {key}, please")
    ]
    assert len(kept) <= 1  # of 20: a key may look like a word by chance, one in some hundreds


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("My password is hunter2!", "hunter2"),
        ("password: correct-horse", "correct-horse"),
        ('{"api_key": "abc"}', "abc"),
        ("export OPENAI_API_KEY=sk-short", "sk-short"),
        ("Das Passwort ist Geheim1", "Geheim1"),
        ("client_secret = 'x y'", "'x"),
        ("Authorization: Bearer abc.def-123", "abc.def-123"),
        ("postgres://loci:geheim@db.example/loci", "geheim"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIB\nabc\n-----END RSA PRIVATE KEY-----", "MIIB"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\ncut off", "cut off"),
        ("<private>I am ill</private>", "I am ill"),
        ("<private>never closed", "never closed"),
    ],
)
def test_secrets_are_left_out_by_their_form(text: str, secret: str) -> None:
    assert LEFT_OUT in redact_secrets(text)
    assert secret not in redact_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Braga, and my sister plays the piano.",
        "The token is stored in Redis, and the password is hashed.",
        "What is the secret of good tea?",
        "See OAuth2AuthorizationCodeRequest in /home/ann/projects/rocket-2/src/main_window_3.py",
        "test_function_number_2_with_a_very_long_name fails since kubernetes_deployment_20240501_v2",
        "Session 550e8400-e29b-41d4-a716-446655440000 began 2026-11-20T10:00:00.000Z",
        "Ich wohne in der Donaudampfschifffahrtsgesellschaftsstraße 12.",
        "東京に住んでいます。 Я живу в Осло.",
    ],
)
def test_words_names_and_times_stay(text: str) -> None:
    assert redact_secrets(text) == text


def test_no_secret_leaves_with_a_prompt_or_a_conversation(places: UserFolders, loci: Loci, transcript: Path) -> None:
    key = "ghp_" + random_key(BASE62, 36, 1)
    claude_code.answer_hook(prompt(f"Why is {key} refused?"), places)
    add(transcript, line("user", f"My token: {key}", "1"), line("assistant", texts(f"I have set {key}."), "2"))
    taken(transcript, places)
    assert key not in json.dumps(loci.asked)
    assert LEFT_OUT in loci.asked[0]["body"]["message"]
    assert [path for path in places.home.rglob("*") if path.is_file() and path != transcript and key in path.read_text()] == []


# A real service


@contextmanager
def spoken_to(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    with (
        serve(database, tcp=True, worker=False) as service,
        httpx.Client(base_url=f"{service.url}/api/v1", timeout=PATIENCE) as client,
    ):
        monkeypatch.setenv("LOCI_URL", service.url)
        yield client


def test_a_conversation_is_context_in_the_next_session(
    own_database: Database,
    places: UserFolders,
    transcript: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    with spoken_to(own_database, monkeypatch) as client:
        add(transcript, line("user", "Our release train leaves on Thursdays.", "1"), line("assistant", texts("Noted."), "2"))
        for _ in range(2):
            taken(transcript, places, ended=True)
        (kept,) = client.get("/memories").json()["items"]
        assert (kept["content"], kept["category"], kept["session_id"]) == (
            "Our release train leaves on Thursdays.",
            "projects/rocket",
            "s1",
        )
        assert [turn["content"] for turn in client.get("/conversations/s1/turns").json()["items"]] == [kept["content"], "Noted."]
        claude_code.answer_hook({**prompt("When does our release train leave?"), "session_id": "s2"}, places)
    said = json.loads(capsysbinary.readouterr().out)["hookSpecificOutput"]["additionalContext"]
    assert "Our release train leaves on Thursdays." in said
