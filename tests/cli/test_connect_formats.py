"""Edits of configuration files say what they must and leave every other byte alone."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.connect import jsonc, toml

PLACE = ("mcpServers", "loci")
ENTRY = {"command": "/opt/loci/bin/loci", "args": ["mcp"], "env": {"LOCI_URL": "http://127.0.0.1:8420"}}

JSON = {
    "nothing": "",
    "a comment alone": "// settings\n",
    "an empty object": "{}\n",
    "an empty object over lines": "{\n}\n",
    "an object with a comment": "{ // mine\n}\n",
    "another server": '{\n  "mcpServers": {\n    "files": {"command": "npx", "args": ["-y", "files"]}\n  }\n}\n',
    "comments and commas behind the last": (
        '// Zed settings\n{\n\t"theme": "One", // dark\n\t/* servers */\n\t"mcpServers": {\n\t\t"a": {"command": "b"}, // c\n\t},\n}\n'
    ),
    "a comment behind the last": '{\n  "theme": "One" // no comma here\n  // "font": 12\n}\n',
    "one line": '{"theme": "One", "mcpServers": {"a": {"command": "b"}}}',
    "lines of Windows": '{\r\n    "mcpServers": {\r\n        "a": {"command": "b"}\r\n    }\r\n}\r\n',
    "our server of before": '{\n  "mcpServers": {\n    "loci": {"command": "old"}, // ours\n    "b": {}\n  }\n}\n',
    "a name twice": '{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}',
    "no line at the end": '{\n  "x": [1, 2, {"y": "//"}]\n}',
}


def plain(text: str) -> Any:
    node = jsonc.parse_value(text)
    return {} if node is None else node.value


def without_ours(text: str) -> list[str]:
    """Lines of a text that are none of ours, without the comma that lets others follow."""
    ours = set(json.dumps(ENTRY, indent=2).replace(" ", "").replace(",", "").split("\n")) | {
        '"loci":{',
        '"mcpServers":{',
        "]",
        "}",
        "{",
    }
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    return [line for line in lines if line.replace(" ", "").replace(",", "") not in ours]


@pytest.mark.parametrize("name", JSON)
def test_json_gets_the_entry_and_keeps_the_rest(name: str) -> None:
    before, after = JSON[name], jsonc.put_value(JSON[name], PLACE, ENTRY)
    wanted = plain(before)
    wanted.setdefault("mcpServers", {})["loci"] = ENTRY
    assert plain(after) == wanted
    assert jsonc.put_value(after, PLACE, ENTRY) == after
    assert ("\r\n" in before) == ("\r\n" in after)
    assert "\n" not in after.replace("\r\n", "") or "\r\n" not in before
    if name not in {"an empty object", "one line", "a name twice", "our server of before"}:
        kept = [line.split("//")[0].strip().rstrip(",") for line in without_ours(before)]
        assert [line for line in kept if line not in after] == []
    assert all(
        comment in after
        for comment in ("// mine", "// dark", "/* servers */", "// c", "// no comma here", "// ours")
        if comment in before
    )


@pytest.mark.parametrize("name", JSON)
def test_json_loses_the_entry_and_keeps_the_rest(name: str) -> None:
    after = jsonc.remove_value(jsonc.put_value(JSON[name], PLACE, ENTRY), PLACE)
    assert "loci" not in plain(after)["mcpServers"]
    rest = plain(JSON[name])
    rest.get("mcpServers", {}).pop("loci", None)
    assert {"mcpServers": {}, **rest} == plain(after)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1', "line 1, column 8: expected , or }"),
        ('{"a": 1}}', "line 1, column 9: there is text after the end of the value"),
        ("{\n  a: 1\n}", 'line 2, column 3: expected a name in "'),
        ('{"a" 1}', "line 1, column 6: expected :"),
        ('{"a": 1 "b": 2}', "expected , or }"),
        ('{"a": 1} /* x', "a comment does not end"),
        ('{"a": NaN}', "expected a value"),
        ('{"a": }', "expected a value"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_invalid_json_is_refused_with_its_position(text: str, said: str) -> None:
    with pytest.raises(jsonc.Broken) as refused:
        jsonc.put_value(text, PLACE, ENTRY)
    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["[]", '"text"', '{"mcpServers": []}', '{"mcpServers": null}'])
def test_json_in_which_something_else_stands_there_is_refused(text: str) -> None:
    with pytest.raises(jsonc.Broken, match="expected an object here"):
        jsonc.put_value(text, PLACE, ENTRY)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.text(max_size=5), VALUES, st.sampled_from([None, 2, "\t"]))
def test_any_json_gets_any_member_and_gives_it_back(data: dict[str, Any], key: str, value: Any, indent: Any) -> None:
    text = json.dumps(data, indent=indent)
    after = jsonc.put_value(text, (key,), value)
    assert json.loads(after) == {**data, key: value}
    assert json.loads(jsonc.remove_value(after, (key,))) == {name: each for name, each in data.items() if name != key}


@given(st.lists(VALUES, max_size=4), VALUES, st.sampled_from([None, 2]))
def test_any_list_gets_any_item_and_loses_each(items: list[Any], item: Any, indent: Any) -> None:
    after = jsonc.append_item(json.dumps({"a": items}, indent=indent), ("a",), item)
    assert json.loads(after) == {"a": [*items, item]}
    both = [*items, item]
    for at in range(len(both)):
        assert json.loads(jsonc.remove_value(after, ("a", at)))["a"] == [*both[:at], *both[at + 1 :]]


SERVERS = ("mcp_servers", "loci")
TOML = {
    "nothing": "",
    "a comment alone": "# settings\n",
    "other settings": 'model = "gpt-5" # the usual\n\n[tui]\nnotifications = true\n',
    "another server": '[mcp_servers.docs]\ncommand = "npx" # from npm\nargs = ["-y", "docs"]\n\n[tui]\nx = 1\n',
    "servers in one line": 'mcp_servers = {docs = {command = "npx"}} # both\n',
    "servers by dots": 'mcp_servers.docs.command = "npx"\n',
    "servers apart": '[mcp_servers.a]\ncommand = "x"\n[tui]\nb = 1\n[mcp_servers.d]\ncommand = "y"\n',
    "lines of Windows": 'a = 1\r\n[mcp_servers.docs]\r\ncommand = "npx"\r\n',
    "our server of before": '[mcp_servers.loci]\ncommand = "old"\n[mcp_servers.loci.env]\nA = "b"\n\n[tui]\nx = 1 # one\n',
    "no line at the end": "[tui]\nx = 1 # one",
}


@pytest.mark.parametrize("name", TOML)
def test_toml_gets_the_entry_and_keeps_the_rest(name: str) -> None:
    before, after = TOML[name], toml.put_table(TOML[name], SERVERS, ENTRY)
    wanted = tomllib.loads(before)
    wanted.setdefault("mcp_servers", {})["loci"] = ENTRY
    assert tomllib.loads(after) == wanted
    assert toml.put_table(after, SERVERS, ENTRY) == after
    if name not in {"servers in one line", "our server of before"}:
        assert [line for line in before.splitlines() if line not in after.splitlines()] == []
    assert all(comment in after for comment in ("# settings", "# the usual", "# from npm", "# both", "# one") if comment in before)
    assert "\n" not in after.replace("\r\n", "") or "\r\n" not in before


@pytest.mark.parametrize("name", TOML)
def test_toml_loses_the_entry_and_keeps_the_rest(name: str) -> None:
    after = toml.remove_table(toml.put_table(TOML[name], SERVERS, ENTRY), SERVERS)
    rest = tomllib.loads(TOML[name])
    rest.get("mcp_servers", {}).pop("loci", None)
    assert {"mcp_servers": {}, **tomllib.loads(after)} == {"mcp_servers": {}, **rest}


@pytest.mark.parametrize("text", ["a = ", "[a\n", "a = 1\na = 2\n"])
def test_invalid_toml_is_refused(text: str) -> None:
    with pytest.raises(toml.Broken):
        toml.put_table(text, SERVERS, ENTRY)


@pytest.mark.parametrize("text", ["mcp_servers = 1\n", "mcp_servers = [1]\n", "[[mcp_servers]]\na = 1\n"])
def test_toml_in_which_something_else_stands_there_is_refused(text: str) -> None:
    with pytest.raises(toml.Broken, match="expected a table at mcp_servers"):
        toml.put_table(text, SERVERS, ENTRY)
