"""The database's own code: one object a file, read with importlib.resources and replayed after every migration."""
