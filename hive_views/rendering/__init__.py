"""HTML pages and escaping of untrusted text."""

from hive_views.rendering.escaping import escape, escape_json
from hive_views.rendering.html_page import embed_json, page, part
from hive_views.rendering.html_table import html_table

__all__ = ["embed_json", "escape", "escape_json", "html_table", "page", "part"]
