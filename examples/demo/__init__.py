"""What `make demo` shows: the main job, on the embedded metastore and real data."""
