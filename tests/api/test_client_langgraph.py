"""The LangGraph store over a running service. Skipped, saying so, where the extra `langgraph` is not installed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest

base = pytest.importorskip("langgraph.store.base", reason="the extra langgraph is not installed")

from loci import Invalid, LociClient  # noqa: E402 (only with the extra)
from loci.langgraph import AsyncLociStore, LociStore  # noqa: E402
from tests.api.clients import async_client_of, client_of  # noqa: E402
from tests.services import Api, Service, eventually, new_api  # noqa: E402

GetOp, PutOp, SearchOp = base.GetOp, base.PutOp, base.SearchOp
ListNamespacesOp, MatchCondition = base.ListNamespacesOp, base.MatchCondition
USER = ("users", "123")


@pytest.fixture
def client(api: Api) -> Iterator[LociClient]:
    """A client in a namespace of its own."""
    with client_of(api.service, api.namespace) as made:
        yield made


@pytest.fixture
def store(client: LociClient) -> LociStore:
    """A store in a namespace of its own."""
    return LociStore(client)


@pytest.fixture(scope="module")
def kept(service: Service) -> Iterator[LociStore]:
    """A store of the documents, which is only read."""
    with new_api(service) as api, client_of(service, api.namespace) as made:
        store = LociStore(made)
        store.batch([PutOp(("docs",), key, value) for key, value in DOCUMENTS.items()])
        yield store


@pytest.fixture(scope="module")
def spaces(service: Service) -> Iterator[LociStore]:
    """A store with items in several namespaces, which is only read."""
    with new_api(service) as api, client_of(service, api.namespace) as made:
        store = LociStore(made)
        store.batch([PutOp(namespace, "k", {"n": 1}) for namespace in SPACES])
        yield store


def keys(items: Any) -> list[str]:
    return [item.key for item in items]


# Items


def test_an_item_is_put_replaced_and_deleted(store: LociStore) -> None:
    store.put(USER, "prefs", {"theme": "dark", "sizes": [1, 2.5, None, True], "nested": {"ü": "%/~"}})
    first = store.get(USER, "prefs")
    assert first is not None
    assert (first.namespace, first.key) == (USER, "prefs")
    assert first.value == {"theme": "dark", "sizes": [1, 2.5, None, True], "nested": {"ü": "%/~"}}
    assert first.created_at == first.updated_at
    store.put(USER, "prefs", {"theme": "light"})
    second = store.get(USER, "prefs")
    assert second is not None
    assert (second.value, second.created_at) == ({"theme": "light"}, first.created_at)
    assert second.updated_at > first.updated_at
    store.delete(USER, "prefs")
    assert store.get(USER, "prefs") is None
    store.delete(USER, "prefs")
    store.put(USER, "prefs", {"theme": "dark"})
    third = store.get(USER, "prefs")
    assert third is not None
    assert third.created_at > second.created_at


def test_a_value_that_was_there_is_a_version_of_a_memory(store: LociStore, client: LociClient) -> None:
    store.put(USER, "prefs", {"theme": "dark"})
    store.put(USER, "prefs", {"theme": "light"})
    lineage = next(iter(client.memories.list())).lineage
    assert lineage == "langgraph/users/123/prefs"
    assert [m.content for m in client.memories.history(lineage)] == ["theme: dark", "theme: light"]
    store.delete(USER, "prefs")
    assert len(list(client.memories.history(lineage))) == 2


def test_a_value_put_again_is_no_new_version_but_is_touched(store: LociStore, client: LociClient) -> None:
    store.put(USER, "prefs", {"theme": "dark"})
    first = store.get(USER, "prefs")
    store.put(USER, "prefs", {"theme": "dark"})
    second = store.get(USER, "prefs")
    assert first is not None
    assert second is not None
    assert second.updated_at > first.updated_at
    assert [m.version for m in client.memories.list(all_versions=True)] == [1]


def test_a_value_whose_text_is_the_same_is_replaced_nonetheless(store: LociStore) -> None:
    store.put(USER, "a", {"text": "one", "n": 1}, index=["text"])
    created = store.get(USER, "a")
    store.put(USER, "a", {"text": "one", "n": 2}, index=["text"])
    changed = store.get(USER, "a")
    assert created is not None
    assert changed is not None
    assert (changed.value["n"], changed.created_at) == (2, created.created_at)


class Overtaken(httpx.HTTPTransport):
    """Lets another one write first, once: after what was read and before what is written."""

    def __init__(self, other: Callable[[], None], **options: Any) -> None:
        super().__init__(**options)
        self.others = [other]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/memories/batch") and self.others:
            self.others.pop()()
        return super().handle_request(request)


@pytest.mark.parametrize("there", [False, True], ids=["the first", "a later one"])
def test_the_second_of_concurrent_puts_of_one_text_holds(store: LociStore, api: Api, there: bool) -> None:
    def put(store: LociStore, n: int) -> None:
        store.put(USER, "a", {"text": "one", "n": n}, index=["text"])

    if there:
        put(store, 0)
    transport = Overtaken(lambda: put(store, 1), uds=str(api.service.socket), verify=False)
    with client_of(api.service, api.namespace, transport=transport) as client:
        put(LociStore(client), 2)
        assert transport.others == []
        item = store.get(USER, "a")
        assert item is not None
        assert item.value["n"] == 2
        assert item.created_at <= item.updated_at
        assert [m.version for m in client.memories.list(all_versions=True)] == [1]


def test_keys_with_equal_values_are_items_of_their_own(store: LociStore) -> None:
    store.put(USER, "a", {"text": "same"})
    store.put(USER, "b", {"text": "same"})
    store.put(("users", "456"), "a", {"text": "same"})
    assert sorted(keys(store.search(("users",)))) == ["a", "a", "b"]


ODD = [
    "",
    " ",
    "a/b",
    "/",
    "~",
    "%2F",
    "..",
    "ключ",
    "\u00e9",
    "e\u0301",
    "a\nb\n",
    "x" * 300,
    "x" * 299 + "y",
    "prefs",
    "*",
    "'; drop table",
]


def test_any_key_and_any_label_is_itself_and_no_other(store: LociStore) -> None:
    for n, odd in enumerate(ODD):
        store.put(USER, odd, {"n": n})
    labels = [odd for odd in ODD if odd and odd not in {"*", ".."}]  # a wildcard, and labels that LangGraph refuses
    for label in labels:
        store.put((label, "below"), "k", {"n": -1})
    for n, key in enumerate(ODD):
        item = store.get(USER, key)
        assert item is not None, key
        assert (item.key, item.value) == (key, {"n": n})
    for label in labels:
        assert [i.namespace for i in store.search((label,))] == [(label, "below")]
        assert store.list_namespaces(prefix=(label,)) == [(label, "below")]
    assert sorted(store.list_namespaces()) == sorted([USER, *((label, "below") for label in labels)])


def test_a_text_that_the_service_does_not_take_is_refused_and_nothing_is_written(store: LociStore) -> None:
    with pytest.raises(Invalid):
        store.batch([PutOp(USER, "good", {"a": 1}), PutOp(USER, "bad", {"a": "\0"})])
    assert store.search(()) == []


def test_stores_with_other_roots_share_nothing(store: LociStore, client: LociClient) -> None:
    other = LociStore(client, root="other")
    other.put(USER, "prefs", {"theme": "dark"})
    client.memories.write("The theme is dark.", category="users/123")
    assert store.get(USER, "prefs") is None
    assert store.search((), query="theme") == []
    assert store.list_namespaces() == []
    with pytest.raises(ValueError, match="root"):
        LociStore(client, root="a/b")


# Batches


def test_a_batch_reads_what_was_there_before_it_writes(store: LociStore) -> None:
    store.put(USER, "a", {"n": 1})
    results = store.batch(
        [
            PutOp(USER, "a", {"n": 2}),
            GetOp(USER, "a"),
            PutOp(USER, "b", {"n": 3}),
            SearchOp(("users",), limit=10),
            PutOp(USER, "b", {"n": 4}),
            ListNamespacesOp(),
            GetOp(USER, "nothing"),
        ]
    )
    assert results[0] is results[2] is results[4] is results[6] is None
    assert results[1].value == {"n": 1}  # type: ignore[union-attr]
    assert keys(results[3]) == ["a"]
    assert results[5] == [USER]
    assert [i.value for i in store.search(USER, filter={"n": 4})] == [{"n": 4}]
    assert store.get(USER, "a").value == {"n": 2}  # type: ignore[union-attr]


def test_the_last_put_or_delete_of_a_key_counts(store: LociStore) -> None:
    store.batch([PutOp(USER, "a", {"n": 1}), PutOp(USER, "a", None), PutOp(USER, "b", None), PutOp(USER, "b", {"n": 2})])
    assert keys(store.search(())) == ["b"]


class Counting(httpx.HTTPTransport):
    """Counts requests."""

    count = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        return super().handle_request(request)


def test_a_batch_costs_few_requests_whatever_its_size(api: Api) -> None:
    transport = Counting(uds=str(api.service.socket))
    with client_of(api.service, api.namespace, transport=transport) as client:
        store = LociStore(client)
        store.batch([PutOp(("n", str(n % 3)), str(n), {"n": n}) for n in range(200)])
        assert transport.count == 2
        found = store.batch([GetOp(("n", str(n % 3)), str(n)) for n in range(200)])
        assert transport.count == 3
        assert [item.value["n"] for item in found] == list(range(200))  # type: ignore[union-attr]
        store.list_namespaces()
        assert transport.count == 4


def test_an_operation_that_there_is_not_is_refused(store: LociStore) -> None:
    with pytest.raises(ValueError, match="Unknown operation"):
        store.batch(["put"])  # type: ignore[list-item]


# Search


DOCUMENTS: dict[str, dict[str, Any]] = {
    "one": {"type": "report", "score": 4.5, "tags": ["a", "b"], "author": {"name": "Ada", "age": 36}, "done": True},
    "two": {"type": "report", "score": 3, "tags": ["a"], "author": {"name": "Bob"}, "done": False},
    "three": {"type": "letter", "score": "5", "author": None},
}
FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"type": "report"}, {"one", "two"}),
    ({"type": {"$eq": "letter"}}, {"three"}),
    ({"type": {"$ne": "report"}}, {"three"}),
    ({"score": {"$gt": 3}}, {"one"}),
    ({"score": {"$gte": 3}}, {"one", "two"}),
    ({"score": {"$lt": 4}}, {"two"}),
    ({"score": {"$lte": 4.5, "$gt": 3.0}}, {"one"}),
    ({"score": {"$lt": float("inf")}}, {"one", "two"}),
    ({"score": float("nan")}, set()),
    ({"type": "letter\0"}, set()),
    ({"type": "report", "done": True}, {"one"}),
    ({"author": {"name": "Ada"}}, {"one"}),
    ({"author": {"age": {"$gt": 30}}}, {"one"}),
    ({"author": None}, {"three"}),
    ({"nothing": None}, {"one", "two", "three"}),
    ({"tags": ["a"]}, {"two"}),
    ({"tags": ["b", "a"]}, set()),
    ({"type": "rep"}, set()),
    ({"type'] or true --": "x"}, set()),
]


@pytest.mark.parametrize(("wanted", "found"), FILTERS, ids=lambda value: str(sorted(value) if isinstance(value, set) else value))
@pytest.mark.parametrize("query", [None, "type report letter"])
def test_a_filter_lets_through_what_it_says(kept: LociStore, wanted: dict[str, Any], found: set[str], query: str | None) -> None:
    assert set(keys(kept.search(("docs",), filter=wanted, query=query))) == found


def test_an_operator_that_there_is_not_is_refused(store: LociStore) -> None:
    store.put(("docs",), "one", {"n": 1})
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.search(("docs",), filter={"n": {"$in": [1]}})


def test_a_prefix_is_of_whole_labels_and_of_this_case(store: LociStore) -> None:
    for namespace in [("ab",), ("ab", "c"), ("abc",), ("AB",), ("x", "ab"), ("a_", "c"), ("a%",)]:
        store.put(namespace, "k", {"at": "/".join(namespace)})
    assert {i.namespace for i in store.search(("ab",))} == {("ab",), ("ab", "c")}
    assert {i.namespace for i in store.search(("a_",))} == {("a_", "c")}
    assert len(store.search(())) == 7
    assert store.list_namespaces(prefix=("ab",)) == [("ab",), ("ab", "c")]


def test_deep_namespaces_are_found_by_any_of_their_beginnings(store: LociStore) -> None:
    deep = tuple(f"{n}{'x' * 40}" for n in range(10))
    for depth in range(1, 11):
        store.put(deep[:depth], "k", {"depth": depth})
    for depth in range(1, 11):
        assert {i.value["depth"] for i in store.search(deep[:depth])} == set(range(depth, 11))
        assert store.list_namespaces(prefix=deep[:depth]) == [deep[:d] for d in range(depth, 11)]
    assert store.search((*deep[:9], "other")) == []


def test_pages_of_a_search_hold_every_item_once(store: LociStore, client: LociClient, api: Api) -> None:
    store.batch([PutOp(("n",), f"{n:03}", {"n": n, "odd": n % 2}) for n in range(120)])
    pages = [store.search(("n",), filter={"odd": {"$gt": 0}}, limit=20, offset=offset) for offset in range(0, 80, 20)]
    assert keys(item for page in pages for item in page) == [f"{n:03}" for n in range(119, 0, -2)]
    eventually(lambda: client.namespaces.get(api.namespace).pending_embeddings == 0)  # vectors change ranks
    ranked = [store.search(("n",), query="odd 17", limit=50, offset=offset) for offset in range(0, 150, 50)]
    found = keys(item for page in ranked for item in page)
    assert sorted(found) == [f"{n:03}" for n in range(120)]
    assert found[0] == "017"


def test_a_query_ranks_what_it_finds_before_the_rest(store: LociStore) -> None:
    store.put(("docs",), "apple", {"text": "a red apple"})
    store.put(("docs",), "car", {"text": "a green car"})
    store.put(("docs",), "hidden", {"text": "an apple that is not searched"}, index=False)
    store.put(("other",), "apple", {"text": "a red apple"})
    found = store.search(("docs",), query="Which apple is red?")
    assert keys(found)[0] == "apple"
    assert set(keys(found)) == {"apple", "car", "hidden"}
    assert found[0].score is not None
    assert found[0].score > 0
    assert {item.key: item.score for item in found}["hidden"] is None
    assert all(item.score is None for item in store.search(("docs",)))


def test_a_query_finds_by_meaning_once_there_are_vectors(store: LociStore, client: LociClient, api: Api) -> None:
    store.put(("docs",), "dog", {"text": "The puppy sleeps in its basket."})
    store.put(("docs",), "tax", {"text": "Invoices are due in April."})
    eventually(lambda: client.namespaces.get(api.namespace).pending_embeddings == 0)
    assert keys(store.search(("docs",), query="dogs", limit=1)) == ["dog"]


def test_the_score_of_an_item_is_how_likely_it_answers(store: LociStore, client: LociClient) -> None:
    store.put(("docs",), "dog", {"text": "The puppy sleeps in its basket."})
    (found,) = store.search(("docs",), query="Where does the puppy sleep?")
    likely = client.recall("Where does the puppy sleep?", k=100)[0].relevance
    assert found.score == pytest.approx(likely, abs=0.01)  # which rests on nearness in time, too
    assert 0.5 < likely <= 1


def of_fields(client: LociClient) -> LociStore:
    """A store of two equal items, of which other fields are searched."""
    store = LociStore(client, fields=["title", "parts[*].text"])
    value = {"title": "Boats", "body": "secret", "parts": [{"text": "sails"}, {"text": "oars"}]}
    store.put(("docs",), "a", value)
    store.put(("docs",), "b", value, index=["body"])
    return store


def test_only_the_fields_that_are_asked_for_are_searched(start_service: Callable[..., Service]) -> None:
    with new_api(start_service()) as api, client_of(api.service, api.namespace) as client:  # by words alone: there is no model
        store = of_fields(client)
        texts = {m.metadata["langgraph"]["key"]: m.content for m in client.memories.list()}
        assert texts == {"a": "Boats\nsails\noars", "b": "secret"}
        assert {i.key: bool(i.score) for i in store.search(("docs",), query="sails")} == {"a": True, "b": False}


def test_once_there_are_vectors_every_field_means_a_little_and_what_says_it_comes_first(client: LociClient, api: Api) -> None:
    store = of_fields(client)
    eventually(lambda: client.namespaces.get(api.namespace).pending_embeddings == 0)
    found = store.search(("docs",), query="sails")
    assert keys(found) == ["a", "b"]
    assert found[0].score > found[1].score >= 0  # by how far each stands above the mean


# Namespaces


SPACES = [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f")]
LISTS: list[tuple[dict[str, Any], list[tuple[str, ...]]]] = [
    ({"prefix": ("a", "c")}, [("a", "c", "f")]),
    ({"suffix": ("f",)}, [("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f")]),
    ({"prefix": ("a",), "suffix": ("f",)}, [("a", "b", "f"), ("a", "c", "f")]),
    ({"prefix": ("a", "*", "f")}, [("a", "b", "f"), ("a", "c", "f")]),
    ({"prefix": ("*", "a")}, [("b", "a", "f")]),
    ({"suffix": ("d", "*")}, [("a", "b", "d", "e"), ("a", "b", "d", "i")]),
    ({"max_depth": 2}, [("a", "b"), ("a", "c"), ("b", "a")]),
    ({"prefix": ("a", "b"), "max_depth": 3}, [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]),
    ({"limit": 2}, [("a", "b", "c"), ("a", "b", "d", "e")]),
    ({"limit": 2, "offset": 2}, [("a", "b", "d", "i"), ("a", "b", "f")]),
    ({"limit": 2, "offset": 6}, []),
    ({"prefix": ("x",)}, []),
    ({"prefix": ("a", "b", "c", "d", "e")}, []),
]


@pytest.mark.parametrize(("wanted", "found"), LISTS, ids=str)
def test_namespaces_are_listed_in_order_as_they_match(
    spaces: LociStore, wanted: dict[str, Any], found: list[tuple[str, ...]]
) -> None:
    assert spaces.list_namespaces(**wanted) == found


def test_a_namespace_without_items_is_none(store: LociStore) -> None:
    store.batch([PutOp(namespace, "k", {"n": 1}) for namespace in (("b", "a", "f"), ("a", "b"))])
    store.delete(("b", "a", "f"), "k")
    assert store.list_namespaces(prefix=("b",)) == []
    assert store.list_namespaces() == [("a", "b")]


def test_a_match_that_there_is_not_is_refused(spaces: LociStore) -> None:
    with pytest.raises(ValueError, match="Unsupported match type"):
        spaces.batch([ListNamespacesOp(match_conditions=(MatchCondition("infix", ("a",)),))])  # type: ignore[arg-type]


# Time to live


SECOND = 1 / 60


def gone(store: LociStore, key: str) -> Callable[[], bool]:
    return lambda: store.get(USER, key, refresh_ttl=False) is None


def test_an_item_ends_when_its_time_is_over_and_nothing_older_comes_back(store: LociStore) -> None:
    store.put(USER, "a", {"n": 1})
    store.put(USER, "a", {"n": 2}, ttl=0.5 * SECOND)
    store.put(USER, "b", {"n": 3}, ttl=60)
    store.put(USER, "b", {"n": 3}, ttl=None)
    eventually(gone(store, "a"))
    assert keys(store.search(("users",), query="n")) == ["b"]
    store.put(USER, "a", {"n": 2})
    item = store.get(USER, "a")
    assert item is not None
    assert item.created_at == item.updated_at


def test_an_item_without_a_time_is_not_ended_by_an_earlier_one(store: LociStore, client: LociClient) -> None:
    store.put(USER, "a", {"n": 1}, ttl=60)
    store.put(USER, "a", {"n": 1}, ttl=None)
    store.put(USER, "b", {"n": 1}, ttl=60)
    store.put(USER, "b", {"n": 2})
    assert [m.valid_to for m in client.memories.list()] == [None, None]


def test_reading_lets_an_item_live_on_unless_it_is_told_not_to(store: LociStore, client: LociClient) -> None:
    store.put(USER, "a", {"n": 1}, ttl=60)

    def ends() -> Any:
        return next(iter(client.memories.list())).valid_to

    first = ends()
    store.get(USER, "a", refresh_ttl=False)
    store.search(USER, refresh_ttl=False)
    assert ends() == first
    store.get(USER, "a")
    second = ends()
    store.search(USER)
    assert first < second < ends()


def test_a_reader_reads_items_whose_life_it_cannot_extend(store: LociStore, client: LociClient, api: Api) -> None:
    store.put(USER, "a", {"n": 1}, ttl=60)
    key = client.access.create_key(role="reader").key
    with client_of(api.service, api.namespace, key=key) as guest:
        assert keys(LociStore(guest).search(USER)) == ["a"]


def test_a_store_may_have_a_time_for_all_items(client: LociClient) -> None:
    store = LociStore(client, ttl={"default_ttl": 0.3 * SECOND, "refresh_on_read": False})
    store.put(USER, "a", {"n": 1})
    store.put(USER, "b", {"n": 1}, ttl=None)
    eventually(lambda: keys(store.search(USER)) == ["b"])


# Asynchronous


@pytest.fixture
async def astore(api: Api) -> AsyncIterator[AsyncLociStore]:
    """An asynchronous store in a namespace of its own."""
    async with async_client_of(api.service, api.namespace) as client:
        yield AsyncLociStore(client)


@pytest.mark.anyio
async def test_the_asynchronous_store_does_the_same(astore: AsyncLociStore) -> None:
    await asyncio.gather(*(astore.aput(USER, str(n), {"text": f"fact {n}"}, ttl=60) for n in range(5)))
    item = await astore.aget(USER, "3")
    assert item is not None
    assert item.value == {"text": "fact 3"}
    assert keys(await astore.asearch(("users",), query="fact 4"))[0] == "4"
    await astore.adelete(USER, "3")
    assert await astore.aget(USER, "3") is None
    assert await astore.alist_namespaces() == [USER]
    with pytest.raises(ValueError, match="Unknown operation"):
        await astore.abatch(["put"])  # type: ignore[list-item]


@pytest.mark.anyio
async def test_the_synchronous_methods_of_an_asynchronous_store_are_for_other_threads(astore: AsyncLociStore) -> None:
    with pytest.raises(asyncio.InvalidStateError):
        astore.get(USER, "a")
    await asyncio.to_thread(astore.put, USER, "a", {"n": 1})
    item = await asyncio.to_thread(astore.get, USER, "a")
    assert item is not None
    assert item.value == {"n": 1}


@pytest.mark.anyio
async def test_a_synchronous_store_can_be_awaited(store: LociStore) -> None:
    await store.aput(USER, "a", {"n": 1})
    assert keys(await store.asearch(USER)) == ["a"]
