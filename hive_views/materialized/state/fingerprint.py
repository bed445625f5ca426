"""Fingerprints of view definitions.

Version ids are reused: a new version gets the highest known id plus one (as in Iceberg's Java library), so after a
rollback and an expiration it may get the id of an expired version. A refresh therefore records a fingerprint of the
definition in addition to its version id.
"""

from __future__ import annotations

import hashlib
import json

from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import sql_texts


def fingerprint(metadata: ViewMetadata) -> str:
    """Hash the current definition: its SQL texts, default catalog and namespace, and columns."""
    version = metadata.current_version()
    schema = metadata.raw_schema(version.schema_id) or {}
    columns = [[field.get("name"), field.get("type")] for field in schema.get("fields", ())]
    document = [
        sorted(sql_texts(version).items()),
        version.default_catalog,
        list(version.default_namespace),
        columns,
    ]
    return hash_text(json.dumps(document, sort_keys=True, ensure_ascii=True))


def hash_text(text: str) -> str:
    """Hash a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]
