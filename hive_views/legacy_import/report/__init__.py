"""Reports of an import: as data and as an HTML page."""
