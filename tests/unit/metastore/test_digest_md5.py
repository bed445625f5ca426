"""The protection of frames by a delegation token, against known results and changed frames."""

from __future__ import annotations

import base64

import pytest

from hive_views.metastore.transport.digest_md5 import Direction, Rc4, Token
from hive_views.metastore.transport.failures import SecurityFailure

TOKEN = base64.urlsafe_b64encode(b"\x01i\x01p\x00\x00").decode()
CHALLENGE = 'realm="default",nonce="n",charset=utf-8,algorithm=md5-sess'


@pytest.mark.parametrize(
    ("key", "offset", "stream"),
    [
        ("0102030405", 0, "b2396305f03dc027ccc3524a0a1118a8"),
        ("0102030405", 4096, "ff25b58995996707e51fbdf08b34d875"),
        ("0102030405060708090a0b0c0d0e0f10", 0, "9ac7cc9a609d1ef7b2932899cde41b97"),
        ("0102030405060708090a0b0c0d0e0f10", 1536, "ffa0b514647ec04f6306b892ae661181"),
    ],
)
def test_cipher_has_the_streams_of_rfc_6229(key: str, offset: int, stream: str) -> None:
    cipher = Rc4(bytes.fromhex(key))
    cipher.apply(bytes(offset))
    assert cipher.apply(bytes(16)).hex() == stream


@pytest.mark.parametrize("cipher", [None, "rc4", "rc4-56", "rc4-40"])
def test_frames_are_opened_in_order(cipher: str | None) -> None:
    sender, receiver = (Direction(bytes(16), "server-to-client", cipher) for _ in range(2))
    frames = [sender.protect(data) for data in (b"one", b"", b"x" * 70_000)]
    assert [receiver.open(frame) for frame in frames] == [b"one", b"", b"x" * 70_000]
    if cipher is not None:
        assert b"one" not in frames[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda frame, _: bytes([frame[0] ^ 1]) + frame[1:],
        lambda frame, _: frame[:-7] + bytes([frame[-7] ^ 1]) + frame[-6:],
        lambda frame, _: frame[:-1] + bytes([frame[-1] ^ 1]),
        lambda frame, _: frame[:3],
        lambda frame, _: b"",
        lambda _, following: following,
    ],
    ids=["data", "code", "number", "short", "empty", "order"],
)
@pytest.mark.parametrize("cipher", [None, "rc4"])
def test_changed_frame_breaks_the_connection(change, cipher) -> None:
    sender, receiver = (Direction(bytes(16), "server-to-client", cipher) for _ in range(2))
    frames = sender.protect(b"data"), sender.protect(b"data")
    with pytest.raises(ConnectionError, match="changed in transit"):
        receiver.open(change(*frames))


@pytest.mark.parametrize(
    ("offer", "chosen"),
    [
        ("", "qop=auth"),
        (',qop="auth"', "qop=auth"),
        (',qop="auth,auth-int"', "qop=auth-int"),
        (',qop="auth-conf,auth-int,auth",cipher="3des,rc4,des"', 'qop=auth-conf,cipher="rc4"'),
        (',qop="auth-conf",cipher="rc4-40,rc4-56"', 'qop=auth-conf,cipher="rc4-56"'),
        (',qop="auth-conf,auth-int",cipher="3des"', "qop=auth-int"),
    ],
)
def test_strongest_protection_is_chosen(offer: str, chosen: str) -> None:
    answer = Token(TOKEN, ()).respond((CHALLENGE + offer).encode()).decode()
    assert answer.endswith(f",{chosen}")


def test_server_without_known_cipher_is_named() -> None:
    with pytest.raises(SecurityFailure, match="offers only auth-conf, cipher 3des; tokens need") as raised:
        Token(TOKEN, ()).respond((CHALLENGE + ',qop="auth-conf",cipher="3des"').encode())
    assert raised.value.step == "agree on protection"


@pytest.mark.parametrize("longest", ["", "maxbuf=65536", "maxbuf=0", "maxbuf=x"])
def test_long_requests_are_divided(longest: str) -> None:
    token = Token(TOKEN, ())
    token.respond(f'{CHALLENGE},qop="auth-int",{longest}'.encode())
    frames = token.wrap(b"x" * 200_000)
    assert sum(map(len, frames)) == 200_000 + 16 * len(frames)
    assert max(map(len, frames)) <= 65_536
