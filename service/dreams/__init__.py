"""Dreams: passes that ask a model what to change, and change what stands up to the guards."""
