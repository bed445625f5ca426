"""The functions that Hive 4.1 has built in (its `FunctionRegistry`), by what they are.

A name that is in none of these sets is a function that somebody registered: Hive quotes it in an expanded text.
"""
# ruff: noqa: SIM905 (long lists of words)

from __future__ import annotations

AGGREGATES = frozenset(
    """
    approx_distinct avg bloom_filter collect_list collect_set compute_bit_vector_fm compute_bit_vector_hll
    context_ngrams corr count covar_pop covar_samp cume_dist dense_rank exception_in_vertex_udaf first_value
    histogram_numeric last_value max min ngrams ntile percent_rank percentile percentile_approx percentile_cont
    percentile_disc rank regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
    regr_syy row_number std stddev stddev_pop stddev_samp sum var_pop var_samp variance
    """.split()
)
"""Aggregate functions (UDAF)."""

WINDOW = frozenset(
    """
    cume_dist dense_rank first_value lag last_value lead ntile percent_rank rank row_number
    """.split()
)
"""Functions that only mean something with OVER."""

TABLE_GENERATING = frozenset(
    """
    explode get_llap_splits get_splits get_sql_schema inline json_tuple parse_url_tuple posexplode
    replicate_rows stack
    """.split()
)
"""Table generating functions (UDTF)."""

PARTITIONED = frozenset(
    """
    matchpath noop noopstreaming noopwithmap noopwithmapstreaming windowingtablefunction
    """.split()
)
"""Partitioned table functions: `noop(on t partition by …)`."""


def may_be_partitioned(lower: str) -> bool:
    """Whether the name of a partitioned table function can be in a text (in lower case); a quick look, not a proof."""
    return "noop" in lower or "matchpath" in lower or "windowingtable" in lower


SCALAR = frozenset(
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
"""All others."""

ALL = SCALAR | AGGREGATES | WINDOW | TABLE_GENERATING | PARTITIONED
"""Every name above."""
