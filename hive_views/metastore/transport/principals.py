"""The user in the credentials that a client sends: the owner of a delegation token, the subject of a JSON Web Token."""

from __future__ import annotations

import base64
import binascii
import json


def token_owner(identifier: bytes) -> str | None:
    """Return the owner in the identifier of a delegation token (Hadoop, AbstractDelegationTokenIdentifier)."""
    # A byte for the version; then texts, each after its length (WritableUtils.writeVInt).
    length = int.from_bytes(identifier[1:2], "big", signed=True)
    start = 2
    if length < -112:
        width = -112 - length
        length, start = int.from_bytes(identifier[2 : 2 + width], "big"), 2 + width
    owner = identifier[start : start + length] if length > 0 else b""
    try:
        return owner.decode() if len(owner) == length and owner else None
    except UnicodeDecodeError:
        return None


def jwt_subject(token: str) -> str | None:
    """Return the subject of a JSON Web Token, without verifying it: the server does that."""
    parts = token.split(".")
    try:
        payload = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (IndexError, binascii.Error, ValueError):
        return None
    subject = payload.get("sub") if isinstance(payload, dict) else None
    return subject if isinstance(subject, str) and subject else None
