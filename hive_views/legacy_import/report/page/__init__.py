"""The report of an import as one HTML page."""
