"""MCP: the seeds' tools over the REST interface. A tool is one REST call, so rights, checks and errors are those of REST."""
