"""HTML pages and escaping of untrusted text."""
