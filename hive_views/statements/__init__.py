"""SQL statements about views, translated to calls of the catalog."""
