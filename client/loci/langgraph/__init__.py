"""LangGraph stores over Loci: `LociStore`, and `AsyncLociStore` for asynchronous graphs. Needs the extra `langgraph`."""

from loci.langgraph.store import AsyncLociStore, LociStore

__all__ = ["AsyncLociStore", "LociStore"]
