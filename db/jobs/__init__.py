"""Jobs, their queue, and their schedules."""
