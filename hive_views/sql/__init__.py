"""SQL texts of views: read, resolved and expanded, without any I/O."""
