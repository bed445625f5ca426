"""Types as texts."""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.types.hive_types import parse_type


@pytest.mark.parametrize("text", ["array<" * 5000 + "int" + ">" * 5000, "struct<a:" * 5000 + "int" + ">" * 5000])
def test_type_beyond_the_recursion_limit_is_an_error(text: str) -> None:
    with pytest.raises(SqlError, match="A type is nested too deeply: more than 100 levels") as caught:
        parse_type(text)
    assert len(str(caught.value)) < 2000
