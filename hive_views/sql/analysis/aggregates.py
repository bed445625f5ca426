"""Spark's aggregate functions: more than sqlglot classifies as aggregates."""
# ruff: noqa: SIM905 (a long list of words)

from __future__ import annotations

from hive_views.sql.parsing.builtin_functions import SPARK_FUNCTIONS

AGGREGATES = frozenset(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg
    bool_and bool_or collect_list collect_set corr count count_if count_min_sketch covar_pop covar_samp every
    first first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kurtosis last last_value listagg max max_by mean median min min_by mode percentile percentile_approx
    percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum var_pop var_samp variance
    """.split()
)
"""Spark 4.1.4's function group `agg_funcs`; a test compares the set with Spark's own registry."""


def may_be_aggregate(function: str) -> bool:
    """Whether a function may be an aggregate: one of Spark's, or one that Spark does not have built in."""
    name = function.lower()
    return name in AGGREGATES or name not in SPARK_FUNCTIONS
