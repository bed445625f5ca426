"""Upgrades of a metastore's own database, for views: detect, plan, render or apply, verify, roll back."""

from hive_views.upgrade.address import Address, Password, find_password, parse_address
from hive_views.upgrade.applying import Applied, apply
from hive_views.upgrade.detecting import detect
from hive_views.upgrade.planning import assumed_schema, plan
from hive_views.upgrade.plans import Plan, Step, dumps, loads
from hive_views.upgrade.schema import Schema
from hive_views.upgrade.session import Session, connect
from hive_views.upgrade.undoing import RolledBack, rollback

__all__ = [
    "Address",
    "Applied",
    "Password",
    "Plan",
    "RolledBack",
    "Schema",
    "Session",
    "Step",
    "apply",
    "assumed_schema",
    "connect",
    "detect",
    "dumps",
    "find_password",
    "loads",
    "parse_address",
    "plan",
    "rollback",
]
