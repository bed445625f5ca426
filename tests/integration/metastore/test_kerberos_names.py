"""Short names of principals, compared with Hadoop's own class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from py4j.protocol import Py4JError

from hive_views.kerberos_names import parse_rules, short_name
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from tests.integration.metastore.java_classes import load_java_classes

REALM = "SALES.TEST"

PRINCIPALS = (
    "ann",
    f"ann@{REALM}",
    "ann@OTHER.TEST",
    f"Ann.B@{REALM}",
    f"hive/node1@{REALM}",
    "hive/node1@OTHER.TEST",
    f"ann-etl/admin@{REALM}",
    f"nn/namenode.sales.test@{REALM}",
)

RULES = (
    "DEFAULT",
    "RULE:[1:$1@$0](.*@OTHER.TEST)s/@.*// DEFAULT",
    r"RULE:[1:$1@$0](.*@OTHER\.TEST)s/@.*//",
    "RULE:[1:$1@$0](ann@.*)s/ann@(.*)/$1/ DEFAULT",
    "RULE:[2:$1](nn|hive)s/.*/hdfs/\nRULE:[2:$1;$2](^.*;admin$)s/;admin$//\nDEFAULT",
    "RULE:[1:$1]/L",
    "RULE:[1:$1@$0](.*@SALES.TEST)s/@.*///L RULE:[2:$1@$0](.*)s/@.*//",
    "RULE:[1:$1]s/n/m/g DEFAULT",
    "RULE:[1:$1]s/n/m/ DEFAULT",
    "RULE:[1:$1@$0](.*OTHER.TEST) DEFAULT",
    "RULE:[2:$2] RULE:[1:user-$1]",
)


@pytest.fixture(scope="module")
def hadoop() -> Iterator[Any]:
    """Hadoop's KerberosName."""
    with load_java_classes(EMBEDDED_VERSION) as classes:
        jvm = classes.jvm
        jvm.java.lang.System.setProperty("java.security.krb5.realm", REALM)
        jvm.java.lang.System.setProperty("java.security.krb5.kdc", "localhost")
        name = jvm.org.apache.hadoop.security.authentication.util.KerberosName
        name.resetDefaultRealm()
        yield name


@pytest.mark.parametrize("rules", RULES)
def test_short_names_are_those_of_hadoop(rules: str, hadoop: Any) -> None:
    hadoop.setRules(rules)
    for principal in PRINCIPALS:
        try:
            theirs = hadoop(principal).getShortName()
        except Py4JError:
            # No rule: Hadoop does not let the user in. A PySpark that other tests started fails to convert the error.
            theirs = principal
        assert short_name(principal, parse_rules(rules), REALM) == theirs, principal


@pytest.mark.parametrize("rules", ["default", "RULE:[1:$1", "DEFAULT RULE:(x)", "RULE:[1:$1](()"])
def test_malformed_rules_are_rejected(rules: str) -> None:
    with pytest.raises(ValueError, match=r"neither DEFAULT nor of the form|no regular expression"):
        parse_rules(rules)
