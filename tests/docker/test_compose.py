"""The files for Docker, read without it: they parse, hold no password, and name only settings that exist."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from service.settings import Settings

ROOT = Path(__file__).parents[2]
PASSWORDS = ("POSTGRES_PASSWORD", "LOCI_APP_PASSWORD")
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|_KEY$")
TAKEN = re.compile(r"\$\{(\w+)(?::[-?][^}]*)?\}")
COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE)["services"]
GIVEN = [(service, name, value) for service, row in SERVICES.items() for name, value in row["environment"].items()]
VALUES = [(service, name, str(value)) for service, name, value in GIVEN if value is not None]
PASSED = {name for _, name, value in GIVEN if value is None}  # as they are outside
# What the file decides: the database is the one beside it, the folder of data is the database's, inside all are reached at 8420.
DECIDED = {"LOCI_DATABASE_URL", "LOCI_MIGRATION_URL", "LOCI_APP_PASSWORD", "LOCI_DATA_DIR", "LOCI_POSTGRES_VERSION"}
DECIDED |= {"LOCI_POSTGRES_PORT", "LOCI_ANALYST_ADDRESS", "LOCI_HOST", "LOCI_PORT", "LOCI_LIMITS__SPOOL_DIR"}


def example() -> dict[str, str]:
    """What .env.example assigns, comments taken off."""
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    return dict(re.findall(r"^#?([A-Z_]+)=(.*)$", text, re.MULTILINE))


def compose_command() -> list[str]:
    """Docker's compose, either version, or the test is skipped."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]):
            answer = subprocess.run([*command, "version"], check=False, capture_output=True, timeout=30)
            if answer.returncode == 0:
                return command
    pytest.skip("neither `docker compose` nor docker-compose is installed")


def config(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Let compose read the file where no .env is."""
    command = [*compose_command(), "-f", str(tmp_path / "docker-compose.yml"), "config"]
    (tmp_path / "docker-compose.yml").write_text(COMPOSE, encoding="utf-8")
    environment["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environment)


@pytest.mark.parametrize(("service", "name", "value"), [row for row in VALUES if SECRET.search(row[1])])
def test_compose_takes_every_secret_from_the_environment(service: str, name: str, value: str) -> None:
    default = r":\?[^}]+" if "PASSWORD" in name else ":-"
    assert re.fullmatch(r"\$\{\w+" + default + r"\}", value), f"{service}: {name}"


def test_compose_has_no_password_in_a_url() -> None:
    assert not re.findall(r"://[^/@\s]*:[^/@\s]*@", COMPOSE)


def test_service_does_not_know_the_superusers_password() -> None:
    assert "POSTGRES_PASSWORD" not in str(SERVICES["loci"])


def test_only_the_service_is_published_and_only_on_this_machine() -> None:
    published = [(name, port) for name, row in SERVICES.items() for port in row.get("ports", [])]
    assert published == [("loci", "127.0.0.1:${LOCI_PORT:-8420}:8420")]


def test_the_database_is_published_on_request_on_this_machine_where_analysts_are_told_to_go() -> None:
    asked = yaml.safe_load((ROOT / "docker-compose.analysts.yml").read_text())["services"]
    assert asked == {"db": {"ports": ["127.0.0.1:${LOCI_POSTGRES_PORT:-5433}:5432"]}}
    address = SERVICES["migrate"]["environment"]["LOCI_ANALYST_ADDRESS"]
    assert address == "postgresql://127.0.0.1:${LOCI_POSTGRES_PORT:-5433}/loci"


@pytest.mark.parametrize("service", SERVICES)
def test_every_container_has_no_rights_that_it_does_not_need_and_a_bound_of_memory_that_one_line_moves(service: str) -> None:
    row, rights = SERVICES[service], {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}
    assert row["cap_drop"] == ["ALL"]
    assert set(row.get("cap_add", [])) == (rights if service == "db" else set())
    assert row["security_opt"] == ["no-new-privileges:true"]
    assert row["pids_limit"] == 512
    name = "LOCI_DB_MEMORY" if service == "db" else "LOCI_MEMORY"
    assert row["mem_limit"] == f"${{{name}:-{example()[name]}}}"
    assert all("size=" in place for place in row.get("tmpfs", [])), "what is in memory has a size"


def test_services_start_in_order() -> None:
    assert SERVICES["migrate"]["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert SERVICES["loci"]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}


def settings(model: type[BaseModel] = Settings, prefix: str = "LOCI_") -> Iterator[str]:
    """The environment variables of all settings."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from settings(field.annotation, f"{prefix}{name.upper()}__")
        else:
            yield prefix + name.upper()


def test_compose_passes_on_every_setting_that_it_does_not_decide() -> None:
    assert {name for name in PASSED if name.startswith("LOCI_")} == set(settings()) - DECIDED
    assert {name for _, name, _ in VALUES if name.startswith("LOCI_")} <= DECIDED
    assert {"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME", "OTEL_TRACES_SAMPLER"} <= PASSED


def test_example_of_env_has_every_password_and_no_value_for_any() -> None:
    values = example()
    taken = set(TAKEN.findall(COMPOSE)) | set(SERVICES["loci"]["build"]["args"])
    assert {name for name in taken if SECRET.search(name)} <= values.keys() <= taken | PASSED | {"COMPOSE_FILE"}
    assert {name: value.strip("'\"") for name, value in values.items() if SECRET.search(name)} == dict.fromkeys(
        (name for name in values if SECRET.search(name)), ""
    )


def test_env_stays_out_of_the_image_and_the_image_runs_as_nobody_special() -> None:
    assert (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()[1] == "*"
    users = re.findall(r"^USER (.+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert users
    assert users[-1] not in {"0", "root"}


@pytest.mark.parametrize("missing", PASSWORDS)
def test_compose_refuses_to_start_without_a_password(missing: str, tmp_path: Path) -> None:
    result = config(tmp_path, **{name: "x" for name in PASSWORDS if name != missing})
    assert result.returncode != 0
    assert f"set {missing} in .env" in result.stderr


def test_compose_accepts_the_file_with_both_passwords_and_passes_on_what_is_set(tmp_path: Path) -> None:
    result = config(tmp_path, **dict.fromkeys(PASSWORDS, "x"), LOCI_LLM__MODEL="scripted", LOCI_PORT="9999")
    assert result.returncode == 0, result.stderr
    service = yaml.safe_load(result.stdout)["services"]["loci"]
    assert service["environment"]["LOCI_LLM__MODEL"] == "scripted"
    assert service["environment"].get("LOCI_LLM__ENDPOINT") is None
    assert "9999" in str(service["ports"])
