"""Asking Spark: the samples of every built-in function, and the common types of every two types."""
# ruff: noqa: SIM905 (long lists of words)

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import product

from hive_views.sql.types.call_types import Argument
from tests.engine_tables import hive_engine
from tests.engine_tables.arguments import LEARNED_TYPES, SIMPLE, Written, columns_of, written
from tests.engine_tables.journal import Journal
from tests.engine_tables.sampling import Sampler, Samples, is_variadic
from tests.engine_tables.spark_engine import SparkEngine

COMMON = {
    "wide": "coalesce({0}, {1})",
    "strict": "greatest({0}, {1})",
    "tight": "element_at(array_union(array({0}), array({1})), 1)",
}
"""The forms whose result is the common type of two types."""


FIELDS = tuple(
    """
    year y years yr yrs yearofweek quarter qtr month mon mons months week w weeks day d days dayofweek dow
    dayofweek_iso dow_iso doy hour h hours hr hrs minute m min mins minutes second s sec seconds secs
    """.split()
)
"""The fields of `extract` and `date_part`."""
FORMS = {
    **{name: f"{name}(DAY, 1, {{0}})" for name in ("dateadd", "date_add", "timestampadd")},
    **{name: f"{name}(DAY, {{0}}, {{0}})" for name in ("datediff", "date_diff", "timediff", "timestampdiff")},
    "window": "window({0}, '5 minutes')",
    "session_window": "session_window({0}, '5 minutes')",
}
"""Calls with units, and those that add columns to a plan, whose results depend on the type of one argument."""
NOT_LEARNED = frozenset(
    """
    struct named_struct arrays_zip variant_get try_variant_get from_json from_csv from_xml date_part datepart extract
    transform filter map_filter aggregate reduce zip_with transform_keys transform_values map_zip_with exists forall
    window session_window from_avro from_protobuf current_time st_setsrid case when stack explode explode_outer
    inline inline_outer
    posexplode posexplode_outer json_tuple range sql_keywords collations python_worker_logs variant_explode
    variant_explode_outer
    """.split()
)
"""Functions whose types depend on names, literals or lambdas; only their numbers of arguments are in the table."""


@dataclass
class Answers:
    """What one engine answered with one setting of ANSI."""

    version: str
    samples: dict[str, Samples] = field(default_factory=dict)
    common: dict[str, dict[tuple[str, str], str]] = field(default_factory=dict)
    fields: dict[str, dict[str, str]] = field(default_factory=dict)
    forms: dict[str, dict[str, str]] = field(default_factory=dict)
    casts: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, samples: Samples) -> None:
        """Add the samples of a function that takes arguments in some number."""
        if samples:
            self.samples[name] = samples


def ask_spark(spark: object, is_ansi: bool, names: Collection[str] = ()) -> Answers:
    """Return Spark's answers about some functions, all of them without `names`."""
    columns = columns_of(LEARNED_TYPES, "c")
    engine = SparkEngine(spark, columns)
    engine.set_ansi(is_ansi)
    pool = written(columns)
    sampler = Sampler(engine, pool)
    answers = Answers(engine.version)
    simple = [item for item in pool if item.argument.type in SIMPLE.values() or item.kind == "p"]
    for rule, form in COMMON.items():
        pairs = list(product(simple, repeat=2))
        kinds = engine.types([form.format(left.sql, right.sql) for left, right in pairs])
        types = [(left.argument.type, right.argument.type) for left, right in pairs]
        answers.common[rule] = dict(zip(types, kinds, strict=True))
    for field_name in FIELDS:
        kinds = engine.types([f"date_part('{field_name}', {item.sql})" for item in simple])
        given = zip(simple, kinds, strict=True)
        answers.fields[field_name] = {item.kind: kind for item, kind in given if not kind.startswith("!")}
    for name, form in FORMS.items():
        kinds = [engine.types([form.format(item.sql)])[0] for item in simple]
        given = zip(simple, kinds, strict=True)
        answers.forms[name] = {item.kind: kind for item, kind in given if not kind.startswith("!")}
    for item in pool:
        targets = [other for other in pool if other.argument.type != "void"]
        kinds = engine.types([f"CAST({item.sql} AS {other.argument.type})" for other in targets])
        accepted = {other.kind for other, kind in zip(targets, kinds, strict=True) if not kind.startswith("!")}
        answers.casts[item.kind] = " ".join(sorted(accepted.union(answers.casts.get(item.kind, "").split())))
    journal = Journal(f"spark-{engine.version}-{'ansi' if is_ansi else 'legacy'}", pool)
    for name in sorted(names or engine.functions()):
        answers.add(name, journal.samples.get(name) or journal.add(name, sample_function(sampler, name)))
    return answers


def sample_function(sampler: Sampler, name: str, counts: Sequence[int] | None = None) -> Samples:
    """Return the samples of a function, by its numbers of arguments; they are empty where none is learned."""
    started = time.monotonic()
    numbers = sampler.counts(name) if counts is None else counts
    samples: Samples = {count: {} for count in numbers}
    if name not in NOT_LEARNED:
        seeds = sampler.seeds(name)
        most = 4 if is_variadic(numbers) else 8
        samples |= {
            count: sampler.sample(name, count, seeds.get(count, [])).accepted for count in numbers if count <= most
        }
    shown = {count: len(calls) for count, calls in samples.items() if calls}
    print(f"{name} {shown} {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
    return samples


def ask_hive() -> Answers:
    """Return Hive's answers about all functions."""
    with hive_engine.running() as engine:
        pool = [Written(kind, Argument(kind)) for kind in hive_engine.LEARNED_TYPES]
        sampler = Sampler(engine, pool)
        names = sorted(name for name in engine.functions() if name not in hive_engine.NOT_LEARNED)
        answers = Answers(hive_engine.VERSION)
        simple = [item for item in pool if not item.argument.type.endswith(">")]
        for rule, form in hive_engine.COMMON.items():
            pairs = list(product(simple, repeat=2))
            kinds = engine.calls([(form, pair) for pair in pairs])
            types = [(left.argument.type, right.argument.type) for left, right in pairs]
            answers.common[rule] = dict(zip(types, kinds, strict=True))
        journal = Journal(f"hive-{hive_engine.VERSION}", pool)
        for name in names:
            answers.add(name, journal.samples.get(name) or journal.add(name, sample_function(sampler, name, range(5))))
    return answers
