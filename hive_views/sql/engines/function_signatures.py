"""Argument and result types of Hive's built-in functions, measured on Hive 4.1.0.

To measure the argument types, each function was called without an argument, and with one column of each type.
"""
# ruff: noqa: SIM905 (long lists of words)

from __future__ import annotations

_MEASURED = {
    "i bi d dc s vc dt ts b a m bn": """
        bucket_number collect_list collect_set concat count hash isnotnull isnull murmur_hash sentences string
        typeof
    """,
    "i bi d dc s vc dt ts b a bn": """
        max min
    """,
    "i bi d dc s vc dt ts b bn": """
        approx_distinct assert_true bloom_filter isfalse isnotfalse isnottrue istrue lcase lower mask
        mask_first_n mask_hash mask_last_n mask_show_first_n mask_show_last_n quote ucase upper
    """,
    "i bi d dc s vc dt ts bn": """
        crc32 hex md5 sha sha1
    """,
    "i bi d dc s vc dt ts": """
        ascii compute_bit_vector_hll dayofweek reverse unbase64 unhex
    """,
    "i bi d dc s vc ts": """
        avg sum
    """,
    "i bi d dc s vc b": """
        bigint double float int smallint tinyint udftobyte udftodouble udftofloat udftointeger udftolong
        udftoshort
    """,
    "i bi d dc s vc": """
        acos asin atan boolean bround ceil ceiling chr cos cosh degrees exp floor ln log log10 log2 radians
        round sign sin sinh sqrt std stddev stddev_pop tan tanh udftoboolean var_pop variance
    """,
    "s vc dt ts b": """
        timestamp
    """,
    "i bi d dc s": """
        abs stddev_samp var_samp
    """,
    "s vc dt ts": """
        date day dayofmonth hour last_day minute month quarter second to_date to_unix_timestamp unix_timestamp
        weekofyear year
    """,
    "i bi d dc": """
        cbrt trunc
    """,
    "s vc bn": """
        binary char_length character_length length octet_length
    """,
    "i bi": """
        bin from_unixtime rand
    """,
    "s vc": """
        initcap ltrim printf rtrim soundex str_to_map trim
    """,
    "a m": """
        size
    """,
    "bn": """
        base64 ndv_compute_bit_vector
    """,
    "ts": """
        floor_day floor_hour floor_minute floor_month floor_quarter floor_second floor_week floor_year
        to_epoch_milli
    """,
    "a": """
        array_compact array_distinct array_max array_min sort_array
    """,
    "i": """
        factorial space
    """,
    "m": """
        map_keys map_values
    """,
    "": """
        add_months aes_decrypt aes_encrypt array_append array_contains array_except array_intersect array_join
        array_position array_remove array_slice array_union assert_true_oom compute_bit_vector_fm concat_ws
        conv corr covar_pop covar_samp current_authorizer current_groups date_add date_format date_sub
        datediff decode e elt encode field find_in_set format_number from_utc_timestamp get_json_object
        greatest histogram_numeric instr is_not_distinct_from least levenshtein likeall likeany locate
        logged_in_user lpad mid mod months_between next_day ngrams nullif parse_url percentile
        percentile_approx percentile_cont percentile_disc pi pmod position pow power regexp_extract
        regexp_replace regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
        regr_syy repeat replace rpad sha2 shiftleft shiftright shiftrightunsigned sort_array_by split substr
        substring substring_index surrogate_key to_utc_timestamp translate uuid version width_bucket xpath
        xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string
    """,
}
"""The functions by the types (see `_TYPE_CODES`) they accept as their only argument; no types if they need more."""

_TYPE_CODES: dict[str, tuple[str, ...]] = {
    "i": ("tinyint", "smallint", "int"),
    "bi": ("bigint",),
    "d": ("float", "double"),
    "dc": ("decimal",),
    "s": ("string",),
    "vc": ("varchar", "char"),
    "dt": ("date",),
    "ts": ("timestamp",),
    "b": ("boolean",),
    "a": ("array",),
    "m": ("map",),
    "bn": ("binary",),
}
SINGLE_ARGUMENT_TYPES: dict[str, frozenset[str]] = {
    name: frozenset(kind for letter in letters.split() for kind in _TYPE_CODES[letter])
    for letters, names in _MEASURED.items()
    for name in names.split()
}
"""The types (without parameters) that each function accepts as its only argument; empty if it needs more arguments."""
MEASURED_TYPES = frozenset(kind for kinds in _TYPE_CODES.values() for kind in kinds)
"""The argument types that were measured."""


def _table(**names: str) -> dict[str, str]:
    return {name: type_text for type_text, functions in names.items() for name in functions.split()}


RESULT_TYPES: dict[str, str] = {
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
        and or isnull isnotnull array_contains in_file istrue isfalse isnottrue isnotfalse rlike regexp exists
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
"""The result type of each function that always returns the same one, by the name in lower case."""

CONVERSION_FUNCTIONS = frozenset(
    "bigint binary boolean date double float int smallint string timestamp tinyint".split()
)
"""The functions that are named like a type and convert to it."""

FIRST_ARGUMENT_TYPE = frozenset(
    """
    max min first_value last_value lead lag nullif sort_array array_distinct array_union
    array_except array_intersect array_remove array_slice array_append array_compact positive negative
    """.split()
)
"""The functions that return the type of their first argument."""
