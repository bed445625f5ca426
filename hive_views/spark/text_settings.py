"""The settings of Spark that change the meaning of a text."""

from __future__ import annotations

from hive_views.sql.parsing.parser_settings import CASE_SENSITIVE, PARSER_SETTINGS

SUBSTITUTE = "spark.sql.variable.substitute"
"""Whether Spark replaces `${name}` by the setting's value before it parses a text; on by default."""

USE_CURRENT = "spark.sql.legacy.useCurrentConfigsForView"
"""Whether Spark analyzes views, temporary ones included, under the settings of the session that reads them."""

STORE_PLAN = "spark.sql.legacy.storeAnalyzedPlanForView"
"""Whether a temporary view stores its plan, with the snapshots of its tables, instead of its text."""

TEXT_SETTINGS = {SUBSTITUTE: ("${",), **PARSER_SETTINGS, CASE_SENSITIVE: ("",)}
"""All settings that change the meaning of a text. They are off when a view's text is read, unless it records them."""
