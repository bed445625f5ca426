"""The names of the functions that Hive 4.1 and Spark 4.1 have built in.

A name in none of these sets is a registered function; Hive quotes it in an expanded text.
"""
# ruff: noqa: SIM905 (long lists of words)

from __future__ import annotations

HIVE_AGGREGATES = frozenset(
    """
    approx_distinct avg bloom_filter collect_list collect_set compute_bit_vector_fm compute_bit_vector_hll
    context_ngrams corr count covar_pop covar_samp cume_dist dense_rank exception_in_vertex_udaf first_value
    histogram_numeric last_value max min ngrams ntile percent_rank percentile percentile_approx percentile_cont
    percentile_disc rank regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
    regr_syy row_number std stddev stddev_pop stddev_samp sum var_pop var_samp variance
    """.split()
)
"""Hive's aggregate functions (UDAF)."""

HIVE_WINDOW_FUNCTIONS = frozenset(
    """
    cume_dist dense_rank first_value lag last_value lead ntile percent_rank rank row_number
    """.split()
)
"""Hive's window functions, which need OVER."""

HIVE_TABLE_FUNCTIONS = frozenset(
    """
    explode get_llap_splits get_splits get_sql_schema inline json_tuple parse_url_tuple posexplode
    replicate_rows stack
    """.split()
)
"""Hive's table-generating functions (UDTF)."""

HIVE_PARTITIONED_FUNCTIONS = frozenset(
    """
    matchpath noop noopstreaming noopwithmap noopwithmapstreaming windowingtablefunction
    """.split()
)
"""Hive's partitioned table functions: `noop(on t partition by …)`."""


def may_call_partitioned_function(lower: str) -> bool:
    """Return whether a text (in lower case) may contain the name of a partitioned table function; a fast filter."""
    return "noop" in lower or "matchpath" in lower or "windowingtable" in lower


_HIVE_SCALAR = frozenset(
    """
    abs acos add_months aes_decrypt aes_encrypt and array array_append array_compact array_contains
    array_distinct array_except array_intersect array_join array_max array_min array_position array_remove
    array_slice array_union ascii asin assert_true assert_true_oom atan base64 between bigint bin binary boolean
    bround bucket_number buildversion cardinality_violation cast_format cbrt ceil ceiling char char_length
    character_length chr coalesce concat concat_ws conv cos cosh crc32 create_union current_authorizer
    current_catalog current_database current_date current_groups current_schema current_timestamp current_user
    date date_add date_format date_sub datediff datetime_legacy_hybrid_calendar day dayofmonth dayofweek decimal
    decode degrees deserialize div double e elt encode enforce_constraint exception_in_vertex_udf exp
    extract_union factorial field find_in_set float floor floor_day floor_hour floor_minute floor_month
    floor_quarter floor_second floor_week floor_year format_number from_unixtime from_utc_timestamp
    get_json_object greatest grouping hash hex hour iceberg_bucket iceberg_day iceberg_hour iceberg_month
    iceberg_truncate iceberg_year if in in_bloom_filter in_file index initcap instr int internal_interval
    interval_day_time interval_year_month is_not_distinct_from isfalse isnotfalse isnotnull isnottrue isnull
    istrue java_method json_read last_day lcase least length levenshtein like likeall likeany ln locate log
    log10 log2 logged_in_user lower lpad ltrim map map_keys map_values mask mask_first_n mask_hash mask_last_n
    mask_show_first_n mask_show_last_n md5 mid minute mod month months_between murmur_hash named_struct
    ndv_compute_bit_vector negative next_day not nullif nvl octet_length or parse_url pi pmod position positive
    pow power printf quarter quote radians rand reflect reflect2 regexp regexp_extract regexp_replace repeat
    replace restrict_information_schema reverse rlike round rpad rtrim second sentences sha sha1 sha2 shiftleft
    shiftright shiftrightunsigned sign sin sinh size smallint sort_array sort_array_by soundex space split
    split_map_privs sq_count_check sqrt st_aggr_convexhull st_aggr_union st_area st_asbinary st_asgeojson
    st_asjson st_asshape st_astext st_bin st_binenvelope st_boundary st_buffer st_centroid st_contains
    st_convexhull st_coorddim st_crosses st_difference st_dimension st_disjoint st_distance st_endpoint
    st_envelope st_envintersects st_equals st_exteriorring st_geodesiclengthwgs84 st_geomcollection st_geometryn
    st_geometrytype st_geomfromgeojson st_geomfromjson st_geomfromshape st_geomfromtext st_geomfromwkb
    st_interiorringn st_intersection st_intersects st_is3d st_isclosed st_isempty st_ismeasured st_isring
    st_issimple st_length st_linefromwkb st_linestring st_m st_maxm st_maxx st_maxy st_maxz st_minm st_minx
    st_miny st_minz st_mlinefromwkb st_mpointfromwkb st_mpolyfromwkb st_multilinestring st_multipoint
    st_multipolygon st_numgeometries st_numinteriorring st_numpoints st_overlaps st_point st_pointfromwkb
    st_pointn st_pointz st_polyfromwkb st_polygon st_relate st_setsrid st_srid st_startpoint st_symmetricdiff
    st_touches st_union st_within st_x st_y st_z str_to_map string struct substr substring substring_index
    surrogate_key tan tanh timestamp tinyint to_date to_epoch_milli to_unix_timestamp to_utc_timestamp toarray
    tomap tostruct translate trim trunc tumbling_window typeof ucase udftoboolean udftobyte udftodouble
    udftofloat udftointeger udftolong udftoshort unbase64 unhex unix_timestamp upper uuid
    validate_acid_sort_order varchar version weekofyear when width_bucket xpath xpath_boolean xpath_double
    xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string year
    """.split()
)
"""Hive's other functions."""

HIVE_FUNCTIONS = (
    _HIVE_SCALAR | HIVE_AGGREGATES | HIVE_WINDOW_FUNCTIONS | HIVE_TABLE_FUNCTIONS | HIVE_PARTITIONED_FUNCTIONS
)
"""All functions that Hive 4.1 has built in (its `FunctionRegistry`)."""

SPARK_FUNCTIONS = frozenset(
    """
    abs acos acosh add_months aes_decrypt aes_encrypt aggregate and any any_value approx_count_distinct
    approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate array
    array_agg array_append array_compact array_contains array_distinct array_except array_insert array_intersect
    array_join array_max array_min array_position array_prepend array_remove array_repeat array_size array_sort
    array_union arrays_overlap arrays_zip ascii asin asinh assert_true atan atan2 atanh avg base64 between
    bigint bin binary bit_and bit_count bit_get bit_length bit_or bit_xor bitmap_and_agg bitmap_bit_position
    bitmap_bucket_number bitmap_construct_agg bitmap_count bitmap_or_agg bool_and bool_or boolean bround btrim
    cardinality case cast cbrt ceil ceiling char char_length character_length chr coalesce collate collation
    collations collect_list collect_set concat concat_ws contains conv convert_timezone corr cos cosh cot count
    count_if count_min_sketch covar_pop covar_samp crc32 csc cume_dist curdate current_catalog current_database
    current_date current_schema current_time current_timestamp current_timezone current_user date date_add
    date_diff date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day
    dayname dayofmonth dayofweek dayofyear decimal decode degrees dense_rank div double e element_at elt encode
    endswith equal_null every exists exp explode explode_outer expm1 extract factorial filter find_in_set first
    first_value flatten float floor forall format_number format_string from_avro from_csv from_json
    from_protobuf from_unixtime from_utc_timestamp from_xml get get_json_object getbit greatest grouping
    grouping_id hash hex histogram_numeric hll_sketch_agg hll_sketch_estimate hll_union hll_union_agg hour hypot
    if ifnull ilike in initcap inline inline_outer input_file_block_length input_file_block_start
    input_file_name instr int is_valid_utf8 is_variant_null isnan isnotnull isnull java_method json_array_length
    json_object_keys json_tuple kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kll_sketch_get_n_bigint
    kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
    kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double
    kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
    kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float kurtosis lag last
    last_day last_value lcase lead least left len length levenshtein like listagg ln localtimestamp locate log
    log10 log1p log2 lower lpad ltrim luhn_check make_date make_dt_interval make_interval make_time
    make_timestamp make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval map map_concat
    map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with
    mask max max_by md5 mean median min min_by minute mod mode monotonically_increasing_id month monthname
    months_between named_struct nanvl negative next_day not now nth_value ntile nullif nullifzero nvl nvl2
    octet_length or overlay parse_json parse_url percent_rank percentile percentile_approx percentile_cont
    percentile_disc pi pmod posexplode posexplode_outer position positive pow power printf python_worker_logs
    quarter quote radians raise_error rand randn random randstr range rank reduce reflect regexp regexp_count
    regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right rint
    rlike round row_number rpad rtrim schema_of_avro schema_of_csv schema_of_json schema_of_variant
    schema_of_variant_agg schema_of_xml sec second sentences sequence session_user session_window sha sha1 sha2
    shiftleft shiftright shiftrightunsigned shuffle sign signum sin sinh size skewness slice smallint some
    sort_array soundex space spark_partition_id split split_part sql_keywords sqrt st_asbinary st_geogfromwkb
    st_geomfromwkb st_setsrid st_srid stack startswith std stddev stddev_pop stddev_samp str_to_map string
    string_agg struct substr substring substring_index sum tan tanh theta_difference theta_intersection
    theta_intersection_agg theta_sketch_agg theta_sketch_estimate theta_union theta_union_agg time time_diff
    time_trunc timestamp timestamp_micros timestamp_millis timestamp_seconds tinyint to_avro to_binary to_char
    to_csv to_date to_json to_number to_protobuf to_time to_timestamp to_timestamp_ltz to_timestamp_ntz
    to_unix_timestamp to_utc_timestamp to_varchar to_variant_object to_xml transform transform_keys
    transform_values translate trim trunc try_add try_aes_decrypt try_avg try_cast try_divide try_element_at
    try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply
    try_parse_json try_parse_url try_reflect try_subtract try_sum try_to_binary try_to_date try_to_number
    try_to_time try_to_timestamp try_url_decode try_validate_utf8 try_variant_get typeof ucase unbase64 unhex
    uniform unix_date unix_micros unix_millis unix_seconds unix_timestamp upper url_decode url_encode user uuid
    validate_utf8 var_pop var_samp variance variant_explode variant_explode_outer variant_get version weekday
    weekofyear when width_bucket window window_time xpath xpath_boolean xpath_double xpath_float xpath_int
    xpath_long xpath_number xpath_short xpath_string xxhash64 year zeroifnull zip_with
    timediff timestampadd timestampdiff
    """.split()
)
"""The functions that Spark has built in: SHOW SYSTEM FUNCTIONS of Spark 4.1.4, `try_cast` and others that it omits.

A name without a database that is not among them is a temporary function, or one of the author's current database.
"""

SPARK_ARRAY_FUNCTIONS = frozenset(
    {
        *("array", "array_append", "array_compact", "array_distinct", "array_except", "array_insert"),
        *("array_intersect", "array_prepend", "array_remove", "array_repeat", "array_sort", "array_union"),
        *("arrays_zip", "collect_list", "collect_set", "concat", "filter", "flatten", "map_entries", "map_keys"),
        *("map_values", "regexp_extract_all", "reverse", "sentences", "sequence", "shuffle", "slice"),
        *("sort_array", "split", "transform"),
    }
)
"""Functions of Spark whose result is an array where explode() takes it."""

SPARK_AGGREGATES = frozenset(
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

SPARK_GENERATORS = frozenset(
    {
        *("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack"),
        *("json_tuple", "parse_url_tuple", "variant_explode", "variant_explode_outer"),
    }
)
"""Spark's functions that produce rows, and Hive's `parse_url_tuple`."""

SPARK_WINDOW_FUNCTIONS = frozenset("cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number".split())
"""Spark 4.1.4's function group `window_funcs`, which need OVER; a test compares the set with Spark's own registry."""

SPARK_NONDETERMINISTIC = frozenset(
    """
    input_file_block_length input_file_block_start input_file_name java_method monotonically_increasing_id rand randn
    random randstr reflect shuffle spark_partition_id try_reflect uniform uuid
    """.split()
)
"""The functions whose calls Spark 4.1.4 calls nondeterministic; a test asks it for each."""


def may_be_aggregate(function: str) -> bool:
    """Return whether a function may be an aggregate: one of Spark's, or one that is not built into Spark."""
    name = function.lower()
    return name in SPARK_AGGREGATES or name not in SPARK_FUNCTIONS
