"""A second opinion about results: endpoints and models that judge texts against a question."""
