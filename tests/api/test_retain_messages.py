"""Messages in: turns are kept, facts are retained with who said them; shapes of several frameworks; what is wrong is named."""

from collections.abc import Iterator
from typing import Any

import pytest

from loci import AsyncLociClient, Invalid, LociClient
from tests.api.clients import async_client_of, client_of
from tests.services import Api, eventually, ok, problem

TALK = [
    {"role": "system", "content": "You are a helpful assistant. Paris is nice."},
    {"role": "user", "content": "Hi there! I live in Oslo. Can you tell me about the weather?"},
    {"role": "assistant", "content": "Of course! Alice bakes bread in Bergen. Let me know if you need anything else."},
    {"role": "user", "content": "Thanks a lot!"},
]
CALL = {"name": "weather", "arguments": {"city": "Oslo"}}
SHAPES: dict[str, list[Any]] = {
    "OpenAI": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "I live in Oslo."}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "It rains."},
    ],
    "OpenAI Responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "I live in Oslo."}]},
        {"type": "function_call", "call_id": "1", "name": "weather", "arguments": '{"city": "Oslo"}'},
        {"type": "function_call_output", "call_id": "1", "output": "It rains."},
    ],
    "Anthropic": [
        {"role": "user", "content": [{"type": "text", "text": "I live in Oslo."}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Oslo"}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "It rains."}]}],
        },
    ],
    "LangChain": [
        {"type": "human", "content": "I live in Oslo."},
        {
            "type": "ai",
            "content": "",
            "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "1", "type": "tool_call"}],
        },
        {"type": "tool", "content": "It rains.", "tool_call_id": "1"},
    ],
    "LangChain, dumped": [
        {"type": "human", "data": {"content": "I live in Oslo.", "type": "human"}},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": {"content": "", "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}}]},
        },
        ["tool", "It rains."],
    ],
}


@pytest.fixture
def client(api: Api) -> Iterator[LociClient]:
    """A client in a namespace of its own."""
    with client_of(api.service, api.namespace) as made:
        yield made


def told(client: LociClient) -> dict[str, str | None]:
    """What is remembered, and who said it."""
    return {memory.content: memory.source for memory in client.memories.list()}


@pytest.mark.row("L3", "L7")
def test_turns_are_kept_and_what_is_told_is_retained_with_who_said_it(client: LociClient) -> None:
    done = client.remember(TALK, session="s", category="talk")
    assert told(client) == {"I live in Oslo.": "user", "Alice bakes bread in Bergen.": "assistant"}
    assert [turn.content for turn in client.sessions.list_turns("s").items] == [message["content"] for message in TALK]
    assert (done.session, done.turns, done.created) == ("s", 4, 2)
    assert [(fact.message, fact.source) for fact in done.decisions if fact.action == "create"] == [(1, "user"), (2, "assistant")]
    assert {(m.category, m.session_id) for m in client.memories.list()} == {("talk", "s")}


@pytest.mark.row("L3")
@pytest.mark.parametrize("name", SHAPES)
def test_messages_of_every_framework_are_the_same_turns_and_facts(client: LociClient, name: str) -> None:
    assert client.remember(SHAPES[name], session="s").created == 1
    turns = client.sessions.list_turns("s").items
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "I live in Oslo."),
        ("assistant", 'weather({"city": "Oslo"})'),
        ("tool", "It rains."),
    ]
    assert turns[1].metadata == {"tool_calls": [CALL]}
    assert told(client) == {"I live in Oslo.": "user"}


@pytest.mark.parametrize("marks", ["...", "!!!", "🙂"])
def test_marks_alone_are_a_turn_and_no_fact(client: LociClient, marks: str) -> None:
    assert client.remember(marks, session="s").created == client.retain(marks).created == 0
    assert [turn.content for turn in client.sessions.list_turns("s").items] == [marks]
    assert told(client) == {}


@pytest.mark.parametrize(
    ("message", "fact", "question"),
    [
        ("i live in rome. can you help me?", "i live in rome.", "can you help me?"),
        ("I am vegan; can you suggest a recipe?", "I am vegan", "can you suggest a recipe?"),
        ("Vivo en Sevilla. ¿Me puedes ayudar?", "Vivo en Sevilla.", "¿Me puedes ayudar?"),
        ("मैं दिल्ली में रहता हूँ। क्या आप मदद कर सकते हैं?", "मैं दिल्ली में रहता हूँ।", "क्या आप मदद कर सकते हैं?"),
        ("Ζω στην Αθήνα. Μπορείς να βοηθήσεις;", "Ζω στην Αθήνα.", "Μπορείς να βοηθήσεις;"),  # noqa: RUF001
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_fact_before_a_question_is_kept_and_the_question_is_named_as_left_out(
    client: LociClient, message: str, fact: str, question: str, *, dry_run: bool
) -> None:
    done = client.remember([("user", "Hello!"), ("user", message)], session="s", dry_run=dry_run)
    assert list(told(client)) == ([] if dry_run else [fact])
    assert [(left.message, left.fact) for left in done.left_out] == [(0, "Hello!"), (1, question)]
    assert [left.reason for left in client.retain(question).left_out] == ["it is a question and states nothing"]


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("¡Hola! Me llamo Inés. ¡Muchas gracias!", {"Me llamo Inés."}),
        ("Hola Claude! Vivo en Lima. Gracias.", {"Vivo en Lima."}),
        ("Bonjour ! Je suis végétarien. Merci beaucoup !", {"Je suis végétarien."}),
        ("Ciao! Mi chiamo Luca. Grazie mille!", {"Mi chiamo Luca."}),
        ("Merhaba! Ankara'da yaşıyorum. Teşekkürler!", {"Ankara'da yaşıyorum."}),  # noqa: RUF001
        ("Привет! Я живу в Омске. Спасибо большое!", {"Я живу в Омске."}),
        ("你好\uff01我吃素。谢谢\uff01", {"我吃素。"}),
        ("こんにちは。私は京都に住んでいます。ありがとうございます。", {"私は京都に住んでいます。"}),
        ("안녕하세요! 저는 서울에 살아요. 감사합니다.", {"저는 서울에 살아요."}),
        ("नमस्ते! मैं दिल्ली में रहता हूँ। धन्यवाद!", {"मैं दिल्ली में रहता हूँ।"}),
        ("مرحبا! أعيش في القاهرة. شكرا!", {"أعيش في القاهرة."}),
        ("¡Gracias!", set()),
        ("Vivo solo. Soy vegano.", {"Vivo solo.", "Soy vegano."}),
        ("J'habite à Lyon. Je fume !", {"J'habite à Lyon.", "Je fume !"}),
        ("¡Amo la pizza!", {"¡Amo la pizza!"}),
        ("我有一个哥哥。他病了。", {"我有一个哥哥。", "他病了。"}),
        ("Rex died. Call mom!", {"Rex died.", "Call mom!"}),
    ],
)
def test_a_greeting_or_a_thank_you_of_any_language_is_no_memory(client: LociClient, message: str, facts: set[str]) -> None:
    done = client.remember(message, session="s")
    assert told(client).keys() == facts
    assert all(left.reason == "it is small talk, or asks for something, and states nothing" for left in done.left_out)


@pytest.mark.parametrize(
    ("before", "said", "facts"),
    [
        ("I drive a Volvo.", "Sorry, I meant a Saab.", {"Sorry, I meant: I drive a Saab."}),
        ("My flight is at 9:00.", "Sorry, 11:00.", {"Sorry: My flight is at 11:00."}),
        ("Our office is in Bonn.", "Not Bonn, Ulm.", {"Our office is in Ulm, not Bonn."}),
        ("Ich fahre einen Volvo.", "Entschuldigung, ich meinte einen Saab.", {"Entschuldigung, ich meinte: Ich fahre einen Saab."}),
        ("I weigh 70 kg.", "Sorry, I meant 72 kg.", {"Sorry, I meant: I weigh 72 kg."}),
        ("Our meeting is at 3 pm.", "No, it's at 4 pm.", {"No: Our meeting is at 4 pm."}),
        ("Our office is in Bonn.", "It is not in Bonn, it is in Ulm.", {"Our office is in Ulm, not Bonn."}),
        ("I drive a Volvo.", "Sorry, I am late.", {"I drive a Volvo.", "Sorry, I am late."}),
        ("I live in Rome with Bob.", "I meant Milan.", {"I live in Rome with Bob.", "I meant Milan."}),
    ],
)
@pytest.mark.parametrize("at_once", [False, True])
def test_a_correction_that_says_only_what_is_right_is_completed_by_what_the_speaker_said_before(
    client: LociClient, before: str, said: str, facts: set[str], *, at_once: bool
) -> None:
    if at_once:
        client.remember(f"{before} {said}")
    else:
        client.remember(before, session="s")
        client.remember([("assistant", "Ann drives a Fiat in Oslo at 7:00."), ("user", said)], session="s")
    assert {text for text, source in told(client).items() if source == "user"} == facts


@pytest.mark.row("L3", "L7")
def test_an_assistants_words_end_nothing_of_the_users_and_are_ended_by_them(client: LociClient) -> None:
    client.remember("Alice lives in Oslo.")
    said = client.remember([{"role": "assistant", "content": "Alice lives in Bergen."}])
    assert [(fact.action, fact.superseded, fact.links[0].type) for fact in said.decisions] == [("link", None, "contradicts")]
    assert told(client) == {"Alice lives in Oslo.": "user", "Alice lives in Bergen.": "assistant"}
    client.remember([{"role": "assistant", "content": "Bob works at Acme."}, {"role": "user", "content": "Bob works at Globex."}])
    assert told(client) | {"Bob works at Globex.": "user"} == told(client)
    assert "Bob works at Acme." not in told(client)


def test_in_one_talk_the_user_corrects_himself_whatever_the_assistant_says_between(client: LociClient) -> None:
    client.remember("Alice lives in Oslo.")
    lines = [("assistant", "Alice lives in Rome."), ("user", "Alice lives in Bergen.")]
    client.remember([{"role": role, "content": text} for role, text in lines])
    assert told(client).get("Alice lives in Bergen.") == "user"
    assert "Alice lives in Oslo." not in told(client)


def test_a_move_told_in_one_text_leaves_the_new_home(client: LociClient) -> None:
    client.remember("I live in Oslo. My brother lives in Turku. I moved to Bergen last week.")
    assert told(client).keys() == {"My brother lives in Turku.", "I moved to Bergen last week."}


def test_a_user_who_moved_lives_there_alone_however_much_else_moved(client: LociClient) -> None:
    client.remember("I live in Oslo.")
    client.remember("My mother lives in Turku.")
    for number in range(12):
        client.remember(f"I moved the folder {number} to the archive.")
    assert client.remember("I moved to Bergen.").updated == 1
    assert {"I moved to Bergen.", "My mother lives in Turku."} < told(client).keys()
    assert "I live in Oslo." not in told(client)


def test_a_users_repetition_makes_an_assistants_statement_the_users(client: LociClient) -> None:
    client.remember([{"role": "assistant", "content": "Alice lives in Oslo."}])
    client.remember("Alice lives in Oslo.")
    assert told(client) == {"Alice lives in Oslo.": "user"}


@pytest.mark.row("L7")
def test_a_whole_conversation_may_be_sent_each_time(client: LociClient) -> None:
    client.remember(TALK[:2], session="s")
    more = client.remember(TALK, session="s")
    assert (more.turns, more.known_turns, more.created, more.unchanged - 3) == (2, 2, 1, 0)
    assert len(client.sessions.list_turns("s").items) == 4
    assert client.remember(TALK, session="s").turns == 0
    assert {m.observations for m in client.memories.list()} == {1}


@pytest.mark.row("L7")
def test_a_whole_conversation_may_be_sent_after_a_pass_has_consumed_all_but_its_last_turns(api: Api, client: LociClient) -> None:
    long = [{"role": "tool", "content": f"The result is {n}."} for n in range(30)]
    client.remember([*long, *TALK], session="s")
    with api.service.database.admin() as admin:
        admin.execute(
            """select loci_internal.clear_turns(n.id, array(select t.id from loci_data.conversation_turns t
                                                            where t.namespace_id = n.id and t.session_id = 's'))
               from loci_data.namespaces n where n.name = %s""",
            [api.namespace],
        )
    assert len(client.sessions.list_turns("s", limit=100).items) == 20
    more = client.remember([*long, *TALK, {"role": "user", "content": "My sister lives in Turku."}], session="s")
    assert (more.turns, more.known_turns, [fact.fact for fact in more.decisions]) == (1, 34, ["My sister lives in Turku."])
    assert client.remember([*long[15:], *TALK, {"role": "user", "content": "My sister lives in Turku."}], session="s").turns == 0
    assert {m.observations for m in client.memories.list()} == {1}


def test_the_same_few_words_before_do_not_make_a_conversation_known(client: LociClient) -> None:
    client.remember("Thanks a lot!", session="s")
    done = client.remember(TALK, session="s")
    assert (done.turns, done.known_turns, done.created) == (4, 0, 2)


def test_code_is_no_fact_and_a_name_in_a_message_is_the_source(client: LociClient) -> None:
    said = "I use this:\n```python\nprint(1)\nx = 2\n```\nIt runs at night."
    client.remember({"role": "user", "name": "ada", "content": said}, session="s")
    assert told(client) == {"I use this:": "ada", "It runs at night.": "ada"}
    assert client.sessions.list_turns("s").items[0].content == said


@pytest.mark.row("L7")
def test_a_dry_run_keeps_neither_turns_nor_facts(client: LociClient) -> None:
    done = client.remember(TALK, session="s", dry_run=True)
    assert (done.dry_run, done.created, done.turns) == (True, 2, 4)
    assert told(client) == {}
    assert client.sessions.list_turns("s").items == []


@pytest.mark.row("L7")
def test_entities_that_are_known_are_named_and_found_in_what_is_told(client: LociClient) -> None:
    entity = client.graph.write_entity("Alice", type="person")
    done = client.remember("I met Alice in Oslo.")
    assert [(e.id, e.name, e.type) for e in done.entities] == [(entity.id, "Alice", "person")]
    eventually(lambda: [m.content for m in client.memories.list(entity="Alice")] == ["I met Alice in Oslo."])


@pytest.mark.row("L3", "L7")
@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([], "messages"),
        ("hello", "messages"),
        ([{"role": "user", "content": "x"}, "hello"], "messages[1]"),
        ([{"content": "x"}], "messages[0].role"),
        ([{"role": "critic", "content": "x"}], "messages[0].role"),
        ([{"role": "user"}], "messages[0]"),
        ([{"role": "user", "content": 3}], "messages[0].content"),
        ([{"role": "user", "content": "x"}, {"role": "user", "content": [{"text": "x"}]}], "messages[1].content"),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content"),
        ([{"role": "user", "content": "a\0b"}], "messages[0].content"),
        ([{"role": "assistant", "tool_calls": "x"}], "messages[0].tool_calls"),
        ([{"role": "user", "content": "x", "said_at": 5}], "messages[0].said_at"),
        ([{"role": "user", "content": "x"}] * 1001, "messages"),
    ],
)
def test_wrong_messages_are_named_and_nothing_is_written(api: Api, messages: Any, field: str) -> None:
    wrong = problem(api.client.post("/remember", json={"messages": messages, "session": "s"}), 422, "invalid-request")
    assert [error["field"] for error in wrong["errors"]] == [field]
    assert ok(api.client.get("/memories"))["items"] == []


def test_a_client_takes_one_text_one_message_and_objects_of_libraries(client: LociClient) -> None:
    class Dumps:
        def model_dump(self, **_: Any) -> dict[str, Any]:
            return {"type": "human", "content": "Bob plays chess."}

    client.remember(Dumps())
    client.remember({"role": "user", "content": "Ada paints."})
    client.remember(("user", "Eve sings.") for _ in range(1))
    assert set(told(client)) == {"Bob plays chess.", "Ada paints.", "Eve sings."}
    with pytest.raises(Invalid, match="role"):
        client.remember([{"content": "x"}])


@pytest.mark.anyio
async def test_messages_are_remembered_with_an_asynchronous_client(api: Api) -> None:
    async with async_client_of(api.service, api.namespace) as client:
        assert isinstance(client, AsyncLociClient)
        assert (await client.remember(TALK, session="s")).created == 2
