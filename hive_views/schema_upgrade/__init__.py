"""Upgrades of metastore databases to support views: detect, plan, render or apply, verify, roll back."""

from hive_views.schema_upgrade.address import Address, Password, find_password, parse_address
from hive_views.schema_upgrade.assumed import assumed_schema
from hive_views.schema_upgrade.connection import connect
from hive_views.schema_upgrade.detection import detect
from hive_views.schema_upgrade.execution import Applied, ApplyOptions, apply
from hive_views.schema_upgrade.plan_model import Step, UpgradePlan, dumps, loads
from hive_views.schema_upgrade.planner import plan
from hive_views.schema_upgrade.rendering import render
from hive_views.schema_upgrade.reversal import RolledBack, rollback
from hive_views.schema_upgrade.schema import Schema
from hive_views.schema_upgrade.session import Session
from hive_views.schema_upgrade.verification import Verification, verify

__all__ = [
    "Address",
    "Applied",
    "ApplyOptions",
    "Password",
    "RolledBack",
    "Schema",
    "Session",
    "Step",
    "UpgradePlan",
    "Verification",
    "apply",
    "assumed_schema",
    "connect",
    "detect",
    "dumps",
    "find_password",
    "loads",
    "parse_address",
    "plan",
    "render",
    "rollback",
    "verify",
]
