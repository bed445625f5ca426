"""The layouts in which a materialized view is stored."""
