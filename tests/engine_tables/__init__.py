"""Generation of the tables in `hive_views/sql/engines` by asking the engines."""
