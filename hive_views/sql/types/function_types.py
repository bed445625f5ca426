"""The result types of Hive's built-in functions that always give the same one."""
# ruff: noqa: SIM905 (long lists of words)

from __future__ import annotations


def _table(**names: str) -> dict[str, str]:
    return {name: type_text for type_text, listed in names.items() for name in listed.split()}


FIXED: dict[str, str] = {
    **_table(
        string="""
        concat concat_ws upper lower ucase lcase trim ltrim rtrim substr substring mid substring_index lpad rpad repeat
        reverse space translate regexp_replace regexp_extract replace initcap base64 hex md5 sha sha1 sha2 crc soundex
        format_number get_json_object parse_url printf quote decode elt date_format from_unixtime next_day chr
        current_user current_database logged_in_user version uuid conv last_day_string xpath_string
        array_join bin bucket_number current_authorizer typeof reflect java_method
        """,
        int="""
        length char_length character_length octet_length size year month day dayofmonth dayofweek weekofyear quarter
        hour array_position murmur_hash position udftointeger width_bucket xpath_int
        minute second datediff instr locate find_in_set ascii rank dense_rank row_number ntile levenshtein field
        """,
        bigint="""
        count unix_timestamp to_unix_timestamp factorial approx_distinct crc32 ndv_compute_bit_vector regr_count
        surrogate_key to_epoch_milli udftolong xpath_long
        """,
        double="""
        exp ln log log2 log10 pow power sqrt cbrt sin cos tan asin acos atan sinh cosh tanh degrees radians rand pi e
        months_between
        stddev stddev_pop stddev_samp std variance var_pop var_samp covar_pop covar_samp corr percent_rank
        cume_dist regr_slope regr_intercept regr_r2 regr_sxx regr_syy regr_sxy percentile_cont percentile_disc
        udftodouble xpath_double xpath_number
        """,
        boolean="""
        isnull isnotnull array_contains in_file istrue isfalse isnottrue isnotfalse rlike regexp exists
        is_not_distinct_from likeall likeany udftoboolean xpath_boolean
        """,
        date="to_date date_add date_sub current_date trunc_date",
        timestamp="""
        current_timestamp from_utc_timestamp to_utc_timestamp floor_day floor_hour floor_minute floor_month
        floor_quarter floor_second floor_week floor_year
        """,
        binary="""
        unhex unbase64 encode aes_encrypt aes_decrypt bloom_filter compute_bit_vector_fm compute_bit_vector_hll
        """,
        void="assert_true",
        float="udftofloat xpath_float",
        smallint="udftoshort xpath_short",
        tinyint="udftobyte",
        **{
            "array<string>": "split current_groups xpath",
            "array<array<string>>": "sentences",
            "map<string,string>": "str_to_map",
            "array<struct<x:double,y:double>>": "histogram_numeric",
            "array<struct<ngram:array<string>,estfrequency:double>>": "ngrams context_ngrams",
        },
    ),
    "next_day": "string",
    "add_months": "string",
    "last_day": "string",
    "grouping": "bigint",
    "hash": "int",
}
"""Function name (lower case) to Hive type."""

CONVERSIONS = frozenset("bigint binary boolean date double float int smallint string timestamp tinyint".split())
"""Hive's functions with the name of a type, which convert to it."""

SAME_AS_FIRST = frozenset(
    """
    max min first_value last_value lead lag nullif sort_array array_distinct array_union
    array_except array_intersect array_remove array_slice array_append array_compact positive negative
    """.split()
)
"""Functions that give the type of their first argument."""

DIFFERENT_IN_SPARK = frozenset(
    """
    add_months last_day trunc next_day percentile_approx grouping decode extract struct date_part second reflect
    java_method position crc32
    """.split()
)
"""Functions whose type in Spark is not Hive's (measured on Spark 4.1): no type is told for a Spark text."""

STRINGS_IN_HIVE = frozenset("concat reverse substr substring lpad rpad".split())
"""Functions that take arrays and binaries in Spark, too, and then give those."""
