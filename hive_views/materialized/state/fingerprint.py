"""What tells one definition from another where their numbers do not.

A version's id is the highest that is known, and one: after a rollback and an expiry, here as in Iceberg's Java library,
the next version may get the number that an expired one had. So a refresh records the definition too, not its id alone.
"""

from __future__ import annotations

import hashlib
import json

from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import sql_texts


def fingerprint(metadata: ViewMetadata) -> str:
    """A short text that differs where the current definition does: its texts, what names mean in it, its columns."""
    version = metadata.current_version()
    schema = metadata.raw_schema(version.schema_id) or {}
    columns = [[field.get("name"), field.get("type")] for field in schema.get("fields", ())]
    document = [
        sorted(sql_texts(version).items()),
        version.default_catalog,
        list(version.default_namespace),
        columns,
    ]
    text = json.dumps(document, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]
