"""Language models: any OpenAI-compatible chat endpoint, asked for JSON, believed in nothing."""
