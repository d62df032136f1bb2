"""Settings of the service, from the environment (prefix LOCI_, `__` between levels) and a .env file."""

import re
from functools import cache
from hashlib import sha256
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from service.llm_presets import Preset, with_preset

ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s?#@]+", re.IGNORECASE)


class EmbeddingSettings(BaseModel):
    """Which model makes vectors: `LOCI_EMBEDDING__PROVIDER` and so on."""

    provider: Literal["static", "openai", "minilm", "none"] = Field(
        default="static",
        description="Who makes vectors: a small model on this CPU, an OpenAI-compatible endpoint, MiniLM (extra `rerank`), nobody",
    )
    endpoint: str = Field(default="https://api.openai.com/v1", description="Address of the endpoint up to /v1, for openai")
    model: str = Field(default="text-embedding-3-small", description="Name of the model at the endpoint, for openai")
    api_key: str | None = Field(default=None, repr=False, description="Key for the endpoint; sent as a bearer")
    dimensions: int | None = Field(
        default=None,
        ge=1,
        le=4000,
        description="Asked of the endpoint; none: its own. A longer vector is cut (Matryoshka). For static: 64, 128 or 256",
    )
    query_prefix: str | None = Field(
        default=None,
        max_length=500,
        description="What questions begin with at the endpoint; none: as its model is known to want it",
    )
    passage_prefix: str | None = Field(
        default=None, max_length=500, description="The same for memories. Another one is another model: `loci reembed`"
    )
    query_input_type: str | None = Field(
        default=None, max_length=100, description="What a request says of questions, such as query; none: as the model is known"
    )
    passage_input_type: str | None = Field(
        default=None, max_length=100, description="The same for memories, such as document. Another one is another model"
    )
    input_type_field: str | None = Field(
        default=None, max_length=100, description="Field that says it; none: as the model is known, else input_type"
    )
    dimensions_field: str | None = Field(
        default=None, max_length=100, description="Field that asks for dimensions; none: as the model is known, else dimensions"
    )
    weight: float | None = Field(
        default=None, ge=0, le=10, description="How much meaning counts with this model, times the weight of the arm; none: 1"
    )
    timeout: float = Field(default=30.0, gt=0, description="Seconds for a batch in the background")
    query_timeout: float = Field(default=2.0, gt=0, description="Seconds that a recall waits for the vector of its question")
    max_chars: int = Field(default=30_000, ge=1, description="Characters after which a text is cut before it is embedded")
    batch: int = Field(default=128, ge=1, le=2048, description="Texts that are sent to the endpoint at once")
    automatic: int = Field(
        default=1000,
        ge=0,
        description="Memories and entities up to which a worker that is configured with another model changes to it by itself",
    )

    @field_validator("query_prefix", "passage_prefix", mode="after")
    @classmethod
    def _check_lines(cls, value: str | None) -> str | None:
        return None if value is None else value.replace("\\n", "\n")


class SecondEmbeddingSettings(EmbeddingSettings):
    """Which model gives a second opinion: `LOCI_SECOND_EMBEDDING__PROVIDER` and so on."""

    provider: Literal["static", "openai", "minilm", "none"] = Field(
        default="none", description="Who makes the vectors that join those of the first model; none: there is no second model"
    )
    query_timeout: float = Field(
        default=0.5, gt=0, description="Seconds that a recall waits for the second vector of its question; then the first answers"
    )
    automatic: int = Field(
        default=1000,
        ge=0,
        description="Memories and entities up to which a worker puts this model in the place of another second one by itself",
    )


OWN_FIELDS = {"messages", "model", "response_format", "stream", "stream_options"}


class LLMSettings(BaseModel):
    """Which language model the passes ask, over any OpenAI-compatible endpoint: `LOCI_LLM__ENDPOINT` and so on."""

    preset: Preset | None = Field(
        default=None, description="Server whose settings are taken where they are not set here; docs/models.md has the table"
    )
    endpoint: str | None = Field(
        default=None, description="Address up to /v1, such as http://localhost:11434/v1; none: no model is asked"
    )
    model: str = Field(default="gpt-4o-mini", description="Name of the model at the endpoint")
    api_key: str | None = Field(default=None, repr=False, description="Key for the endpoint; sent as a bearer")
    timeout: float = Field(default=60.0, gt=0, description="Seconds without a byte after which a try is given up")
    deadline: float = Field(default=600.0, gt=0, description="Seconds for a whole answer to a job")
    request_deadline: float = Field(
        default=20.0,  # less than the 30 that a client gives a call, or a model that hangs would cost it the call
        gt=0,
        description="The same while a request waits (retain, remember, reflect)",
    )
    recall_deadline: float = Field(
        default=5.0, gt=0, description="The same while a recall waits for its question to be rewritten (rewrite)"
    )
    concurrency: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="Calls at once in one process, requests first; none: one for an endpoint on this machine, else any number",
    )
    attempts: int = Field(default=3, ge=1, le=10, description="Tries of one call; the job that makes it has its own")
    stream: bool = Field(default=True, description="Whether answers come as streams, so that slow ones are not given up")
    format: Literal["json_schema", "json_object", "none"] = Field(
        default="json_schema", description="How JSON is asked for; with the last two the schema stands in the prompt"
    )
    max_tokens: int = Field(default=16_000, ge=1, description="Tokens that an answer may have")
    context: int | None = Field(
        default=None, ge=256, description="Tokens that prompt and answer may have together; none: as many as the endpoint states"
    )
    temperature: float | None = Field(default=0.0, ge=0, le=2, description="Sent with each call; none: the endpoint's own")
    extra: dict[str, Any] = Field(
        default={}, description="JSON that each request gets beside its own fields, such as reasoning_effort"
    )
    prompt_price: float = Field(default=0.0, ge=0, description="Price of a million tokens that are sent, in any unit of money")
    completion_price: float = Field(default=0.0, ge=0, description="Price of a million tokens of answers, in the same unit")
    prompts: Path | None = Field(default=None, description="Folder whose files replace prompts of the same name")

    @field_validator("extra", mode="before")
    @classmethod
    def _empty_as_null(cls, value: object) -> object:
        return {} if isinstance(value, str) and value.strip().lower() in {"", "none"} else value

    @field_validator("extra")
    @classmethod
    def _check_extra_fields(cls, value: dict[str, Any]) -> dict[str, Any]:
        if own := sorted(OWN_FIELDS & set(value)):
            raise ValueError(f"must not have {', '.join(own)}, which each request has of its own")
        return value

    @property
    def settings_hash(self) -> str:
        """A hash of these settings: another one, and what an endpoint has refused is worth another try."""
        return sha256(self.model_dump_json().encode()).hexdigest()[:16]

    @model_validator(mode="before")
    @classmethod
    def _apply_preset(cls, given: object) -> object:
        return with_preset(given)

    @field_validator("preset", "endpoint", "temperature", "prompts", "context", "concurrency", mode="before")
    @classmethod
    def _none_as_null(cls, value: object) -> object:
        return None if isinstance(value, str) and value.strip().lower() in {"", "none"} else value


class RerankSettings(BaseModel):
    """Settings of the reranker: `LOCI_RERANK__ENDPOINT` and so on."""

    provider: Literal["auto", "endpoint", "minilm", "none"] = Field(
        default="auto",
        description="Who reranks: the endpoint, MiniLM on this CPU (extra `rerank`), nobody; auto: the first that there is",
    )
    endpoint: str | None = Field(
        default=None,
        description="Address up to /rerank, such as http://localhost:8080 or https://api.jina.ai/v1; none: no endpoint is asked",
    )
    model: str | None = Field(default=None, max_length=255, description="Name of the model at the endpoint; none: it has one")
    api_key: str | None = Field(default=None, repr=False, description="Key for the endpoint; sent as a bearer")
    format: Literal["documents", "texts"] = Field(
        default="documents",
        description="What it calls the texts: documents (Cohere, Jina, vLLM, llama.cpp), texts (text-embeddings-inference)",
    )
    top_n: int = Field(default=50, ge=2, le=200, description="Results that are judged where a recall does not say how many")
    max_chars: int = Field(default=2000, ge=1, description="Characters after which a text is cut before it is judged")
    timeout: float = Field(default=2.0, gt=0, description="Seconds without a byte after which a try is given up")
    deadline: float | None = Field(
        default=None,
        gt=0,
        description="Seconds that a recall waits for the judgement in all. None: 3 for an endpoint, 0.5 for minilm",
    )
    attempts: int = Field(default=2, ge=1, le=10, description="Tries of one call, within the deadline")
    weight: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Share of the judgement in the order; the rest is the score before it. None: 1 for an endpoint; for minilm "
        "0.6 of turns and 0.3 of texts that no conversation surrounds",
    )
    price: float = Field(default=0.0, ge=0, description="Price of a million tokens, in the unit of LOCI_LLM__PROMPT_PRICE")

    @field_validator("endpoint", "model", "weight", "deadline", mode="before")
    @classmethod
    def _none_as_null(cls, value: object) -> object:
        return None if isinstance(value, str) and value.strip().lower() in {"", "none"} else value


class JobSettings(BaseModel):
    """How jobs are worked: `LOCI_JOBS__CONCURRENCY` and so on."""

    concurrency: int = Field(default=4, ge=1, le=100, description="Jobs at a time in one process")
    attempts: int = Field(default=6, ge=1, le=100, description="Failures after which a job is dead")
    backoff: float = Field(
        default=10.0, ge=0, description="Seconds before the second try, or down to half of it; then three times as long each time"
    )
    backoff_limit: float = Field(default=3600.0, ge=0, description="Seconds before a try, at most")
    busy_backoff: float = Field(default=300.0, ge=0, description="Seconds that a job waits for a busy namespace; doubled each time")
    busy_limit: float = Field(default=3600.0, ge=0, description="Seconds that it waits at a time, at most")
    busy_tries: int = Field(default=6, ge=0, description="How often it waits before it is skipped")
    heartbeat: float = Field(default=10.0, gt=0, description="Seconds between signs of life of a worker; the same in all processes")
    lost_after: float = Field(
        default=30.0, gt=0, description="Seconds without a sign of life after which others take over; the same in all processes"
    )


LEFT = 5.0  # seconds of a request's deadline in which it answers without its model, or half of a shorter one


def seconds_within_request(model: float, request: float) -> float:
    """How long a request waits for a model: the smaller deadline rules, so that the request itself still answers."""
    return min(model, request - min(LEFT, request / 2))


class DeadlineSettings(BaseModel):
    """Seconds that requests may take since their arrival, without the wait for the body: `LOCI_DEADLINES__READ` and so on.

    Then the answer is 504, and the work is cancelled and taken back.
    """

    read: float = Field(default=30.0, gt=0, description="Seconds for a request that reads")
    write: float = Field(default=60.0, gt=0, description="Seconds for one that writes")
    batch: float = Field(default=300.0, gt=0, description="Seconds for one that writes much: batches, erasing, merging, undoing")
    context: float = Field(default=30.0, gt=0, description="Seconds for a context")
    model: float = Field(default=180.0, gt=0, description="Seconds for one that may ask a model (retain, remember, reflect)")
    poll: float = Field(default=60.0, gt=0, description="Seconds for a poll of changes, the wait for one (30 at most) included")
    imports: float = Field(default=3600.0, gt=0, description="Seconds for the transaction of an import, once its lines are here")
    exports: float = Field(default=3600.0, gt=0, description="Seconds for the transaction of an export; its reader may take longer")
    lock: float = Field(default=10.0, gt=0, description="Seconds that a statement waits for a lock")
    idle: float = Field(default=30.0, gt=0, description="Seconds that a transaction may stand still between two statements")


class LimitSettings(BaseModel):
    """Limits of one caller in each process: `LOCI_LIMITS__KEY_SHARE` and so on."""

    key_share: float = Field(default=0.5, gt=0, le=1, description="Part of the pool that one key may hold; at least one connection")
    namespace_share: float = Field(default=0.75, gt=0, le=1, description="Part of the pool that one namespace may hold")
    key_share_among_others: float = Field(
        default=0.1,
        gt=0,
        le=1,
        description="The same on average of two seconds while other keys ask too, beyond one connection at a time; at least one",
    )
    namespace_share_among_others: float = Field(
        default=0.2, gt=0, le=1, description="The same for a namespace while others are asked about too"
    )
    wait: float = Field(default=10.0, gt=0, description="Seconds that a request waits for its turn, and then for a connection")
    waiting: int = Field(default=100, ge=1, description="Requests beyond a share that may wait; further ones are refused at once")
    words: int = Field(default=1_000_000, ge=1, description="Words in the texts of a request; imports have none but their size")
    bodies: int = Field(
        default=256 * 1024 * 1024,
        ge=1024 * 1024,
        description="Bytes of bodies in memory at once; small ones do not count",
    )
    body_seconds: float = Field(
        default=180.0, gt=0, description="Seconds in which a body that is held in memory must be complete; imports are not"
    )
    import_bytes: int = Field(default=4 * 1024**3, ge=1024, description="Bytes of the largest import or export")
    spool_bytes: int = Field(
        default=8 * 1024**3,
        ge=1024,
        description="Bytes on disk of imports and exports under way, also unpacked; a key has half",
    )
    spool_dir: Path | None = Field(default=None, description="Folder for them; none: that of the system for temporary files")
    readers: int = Field(
        default=2, ge=1, le=100, description="Imports that are read at a time, each by a process of its own; a key may have half"
    )
    reader_bytes: int = Field(
        default=256 * 1024**2, ge=64 * 1024**2, description="Bytes of memory that each of these processes may take"
    )
    reader_seconds: int = Field(
        default=3600, ge=1, description="Seconds of a processor that each may take; 30 and 10 for each MiB, if that is less"
    )
    streams: int = Field(default=100, ge=1, description="Streams and waiting polls of changes of a key, or of all without one")
    connections: int | None = Field(
        default=512, ge=1, description="HTTP connections from one address; behind a proxy that is the proxy's. None: any number"
    )
    all_connections: int = Field(default=4096, ge=1, description="HTTP connections from all addresses")
    head: float = Field(default=10.0, gt=0, description="Seconds in which the headers of a request must be complete")
    keep_alive: float = Field(default=30.0, gt=0, description="Seconds that a connection is kept between two requests")
    stall: float = Field(default=20.0, gt=0, description="Seconds ahead that a slow sender or reader is given, see pace")
    pace: int = Field(default=8192, ge=1, description="Bytes a second that bodies must come in, and long replies be read, at least")


class Settings(BaseSettings):
    """Everything that can be configured."""

    model_config = SettingsConfigDict(env_prefix="LOCI_", env_nested_delimiter="__", env_file=".env", extra="ignore")

    database_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("LOCI_DATABASE_URL", "DATABASE_URL"),
        description="PostgreSQL to connect to, as loci_app; none: the embedded server, in LOCI_DATA_DIR",
    )
    direct_url: str | None = Field(
        default=None,
        description="The same database without a pooler between, for the queue of jobs, looks for changes and figures; "
        "none: LOCI_DATABASE_URL",
    )
    prepare: bool | None = Field(
        default=None,
        description="Whether statements are prepared; none: yes, unless LOCI_DIRECT_URL says that a pooler is between. "
        "PgBouncer needs 1.21 and max_prepared_statements",
    )
    read_url: Annotated[list[str], NoDecode] = Field(
        default=[],
        repr=False,
        description="Standby servers that answer reads, as loci_app, with spaces between; none: the primary answers all",
    )
    read_wait: float = Field(
        default=0.05, ge=0, le=10, description="Seconds that a read waits for a standby to have the reader's last write"
    )
    max_staleness: float = Field(
        default=5.0, ge=0, description="Seconds that a standby may be behind for a read that names no position in the log"
    )
    migration_url: str | None = Field(
        default=None, description="The owner's connection, for `loci migrate`, `reembed` and `analyst`; the service never uses it"
    )
    app_password: str | None = Field(default=None, description="Password that `loci migrate` gives the role loci_app")
    data_dir: Path = Field(default=Path(".loci"), description="Folder of the embedded server")
    postgres_version: Literal[16, 18] = Field(default=18, description="Version of the embedded server")
    postgres_port: int | None = Field(
        default=None,
        ge=1024,
        le=65535,
        description="Port of the embedded server on 127.0.0.1, for logins with a password; none: a socket alone",
    )
    analyst_address: str | None = Field(
        default=None,
        description="Where analysts reach the database, such as postgresql://127.0.0.1:5433/loci; none: where this process does",
    )
    host: str = Field(default="127.0.0.1", description="Address that `loci serve` listens on, and `loci worker` with its figures")
    port: int = Field(default=8420, ge=0, le=65535, description="Its port; 0: any that is free")
    pool_size: int = Field(default=10, ge=1, le=200, description="Connections to the database that a process may have for requests")
    worker_pool_size: int = Field(default=4, ge=1, le=100, description="Connections that its background work may have beside them")
    max_chars: int = Field(
        default=16_000,
        ge=1000,
        description="Characters of a context or of a tool's reply, where the call does not say how many",
    )
    max_body_bytes: int = Field(default=64 * 1024 * 1024, ge=1024, description="Bytes of the largest body of a request")
    allowed_hosts: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="Names, with commas between, that a service without keys answers to besides this machine's own; `*`: all",
    )
    cors_origins: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="Origins, with commas between, whose pages may call the service, such as https://app.example; "
        "`*`: all, where keys are required",
    )
    rate_limit: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Requests a minute of a key that has no limit of its own; none: any number"
    )
    wrong_keys: int | None = Field(
        default=60,
        ge=1,
        description="Wrong keys a minute, from one address where LOCI_TRUSTED_PROXIES is set, else of one beginning; further ones "
        "are refused later. None: any number",
    )
    trusted_proxies: Annotated[list[str] | None, NoDecode] = Field(
        default=None,
        description="Addresses and networks of the proxies in front, with commas between, or `none`: they alone are believed about "
        "X-Forwarded-For and X-Forwarded-Proto. None: 127.0.0.1 is, and nobody is limited by an address",
    )
    require_keys: bool | None = Field(
        default=None, description="Whether requests need a key; none: they do unless the service is bound to loopback"
    )
    create_namespaces: bool = Field(
        default=False,
        description="Whether a write makes the namespace that it names: for the operator, and for keys of agents that are admin at "
        "home and limited neither in scope nor to namespaces",
    )
    session_seconds: float = Field(
        default=43_200.0,
        gt=0,
        le=2_592_000,
        description="Seconds that a session of a browser lasts, unless its key ends before",
    )
    worker: bool = Field(default=True, description="Whether `loci serve` also does background work")
    workers: int = Field(default=1, ge=1, le=100, description="Processes of `loci serve`, on one port")
    metrics_port: int | None = Field(
        default=None, ge=0, le=65535, description="Port where `loci worker` shows its metrics, at LOCI_HOST; none: nowhere"
    )
    metrics_key: str | None = Field(
        default=None,
        min_length=16,
        repr=False,
        description="Key that /metrics asks for, as a bearer; none: nobody may read it, or anybody where no keys are needed; at "
        "LOCI_METRICS_PORT anybody",
    )
    log_level: str = Field(default="INFO", description="Least level that is logged: DEBUG, INFO, WARNING, ERROR")
    log_format: Literal["auto", "json", "text"] = Field(
        default="auto", description="Format of the log; auto: text on a terminal, else JSON"
    )
    embedding: EmbeddingSettings = Field(default=EmbeddingSettings(), description="Embeddings")
    second_embedding: SecondEmbeddingSettings = Field(
        default=SecondEmbeddingSettings(), description="Embeddings: a second model, as an option"
    )
    llm: LLMSettings = Field(default=LLMSettings(), description="Language model")
    rerank: RerankSettings = Field(default=RerankSettings(), description="Reranking")
    jobs: JobSettings = Field(default=JobSettings(), description="Jobs")
    deadlines: DeadlineSettings = Field(default=DeadlineSettings(), description="Deadlines")
    limits: LimitSettings = Field(default=LimitSettings(), description="Limits")

    @field_validator("postgres_version", mode="before")
    @classmethod
    def _parse_number(cls, value: object) -> object:
        return int(value) if isinstance(value, str) and value.isdecimal() else value  # as the environment has it

    @field_validator("read_url", mode="before")
    @classmethod
    def _split_words(cls, value: object) -> object:
        return value.split() if isinstance(value, str) else value

    @field_validator("allowed_hosts", "cors_origins", mode="before")
    @classmethod
    def _split_list(cls, value: object) -> object:
        return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value

    @field_validator("cors_origins")
    @classmethod
    def _check_origins(cls, value: list[str]) -> list[str]:
        wrong = [name for name in value if name != "*" and not ORIGIN.fullmatch(name)]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no origin: expected a scheme, a host and a port, such as https://app.example:8443")
        return [name.lower() for name in value]

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _parse_networks(cls, value: object) -> object:
        if isinstance(value, str):
            value = [] if value.strip().lower() == "none" else [part.strip() for part in value.split(",") if part.strip()] or None
        return [str(ip_network(part)) for part in value] if isinstance(value, list) else value

    @property
    def prepares_statements(self) -> bool:
        """Whether statements are prepared."""
        return self.direct_url is None if self.prepare is None else self.prepare

    @property
    def is_loopback(self) -> bool:
        """Whether the service is bound to this machine alone."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")

    @property
    def requires_keys(self) -> bool:
        """Whether requests must carry a key."""
        return not self.is_loopback if self.require_keys is None else self.require_keys


@cache
def get_settings() -> Settings:
    """The settings of this process, read once."""
    return Settings()
