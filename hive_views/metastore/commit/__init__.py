"""The commit protocol: compare-and-swap of a row under the metastore's lock."""
