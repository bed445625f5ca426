"""The refresh state of a materialized view and its encodings."""
