"""HTTP: who calls, what comes in and what goes out, the same for all subjects."""
