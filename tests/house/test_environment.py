"""A run of tests is the same for everybody, and reaches nothing of whoever runs it."""

import os
from pathlib import Path

import pytest

from tests import environment

USERS = (
    "LOCI_URL",
    "LOCI_KEY",
    "LOCI_LLM__ENDPOINT",
    "DATABASE_URL",
    "PGHOST",
    "PGTZ",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "LC_COLLATE",
)


def test_tests_see_no_setting_of_the_user_but_what_a_run_may_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in USERS:
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("LOCI_TEST_SAID", "yes")
    monkeypatch.setenv("TZ", "America/St_Johns")
    monkeypatch.setenv("NO_PROXY", "")
    environment.forget()
    assert [name for name in USERS if name in os.environ] == []
    assert [os.environ[name] for name in ("LOCI_TEST_SAID", "TZ", "NO_PROXY")] == ["yes", "UTC", "*"]


def test_a_file_of_settings_in_the_checkout_is_not_read() -> None:
    assert Path.cwd().samefile(os.environ["LOCI_TEST_DIR"])
