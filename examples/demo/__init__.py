"""The demo: views, their readers, materialized views and an import, with real data."""
