"""Where a materialized view keeps its rows: what is particular to each layout.

- *registered* (the open specification, Iceberg PR 11041): the view's version names a table of the catalog.
- *attached* (Iceberg Materialized View Concept, Design 1): a view property names the metadata file of a storage table
  that is in no catalog; a property of that table lists the refreshes.
- *table* (the same document, Design 2): a table of the catalog whose property names the view's metadata file; the
  summary of each snapshot holds the refresh state.

A reader without support for materialized views sees a plain view (the first two) or a plain table (the last).
"""
