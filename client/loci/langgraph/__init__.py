"""LangGraph stores over Loci: `LociStore`, and `AsyncLociStore` for asynchronous graphs. Needs the extra `langgraph`."""

try:
    import langgraph.store.base  # noqa: F401 (whether it is there)
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the LangGraph stores need an extra: pip install 'loci-pg-client[langgraph]'", name=error.name
    ) from error

from loci.langgraph.store import AsyncLociStore, LociStore

__all__ = ["AsyncLociStore", "LociStore"]
