"""Resolution of the names in a query."""
