-- Objects that Spark without Iceberg creates. The forms follow createTable, createView and createFunction of
-- SqlBaseParser.g4 of Spark 4.1, and the providers of its DataSourceRegister files.

--- spark_tables | database | with a comment, a location and properties
CREATE DATABASE spark_tables COMMENT 'Tables of Spark' LOCATION '{warehouse}/spark tables.db' WITH DBPROPERTIES ('team'='bi');
--- spark_views | database | views of Spark
CREATE DATABASE spark_views;

--- spark_tables.parquet | table spark provider | USING parquet
CREATE TABLE spark_tables.parquet (id INT, name STRING, d DATE) USING parquet COMMENT 'ü ☃';
INSERT INTO spark_tables.parquet VALUES (1, 'a', DATE'2024-01-01'), (2, NULL, NULL);
--- spark_tables.orc | table spark provider | USING orc
CREATE TABLE spark_tables.orc (id INT, name STRING) USING orc OPTIONS ('compression'='zlib');
INSERT INTO spark_tables.orc VALUES (1, 'a');
--- spark_tables.csv | table spark provider | USING csv
CREATE TABLE spark_tables.csv (id INT, name STRING) USING csv OPTIONS ('header'='true', 'sep'='|');
INSERT INTO spark_tables.csv VALUES (1, 'a');
--- spark_tables.json | table spark provider | USING json
CREATE TABLE spark_tables.json (id INT, s STRUCT<a: INT>) USING json;
INSERT INTO spark_tables.json VALUES (1, named_struct('a', 1));
--- spark_tables.text | table spark provider | USING text
CREATE TABLE spark_tables.text (value STRING) USING text;
--- spark_tables.xml | table spark provider | USING xml
CREATE TABLE spark_tables.xml (id INT) USING xml OPTIONS ('rowTag'='r');
--- spark_tables.binary_file | table spark provider | USING binaryFile
CREATE TABLE spark_tables.binary_file USING binaryFile OPTIONS ('path'='{files}/csv');
--- spark_tables.jdbc | table spark provider | USING jdbc, with a password
CREATE TABLE spark_tables.jdbc (id INT) USING jdbc OPTIONS ('url'='jdbc:derby:memory:none;create=true', 'dbtable'='(SELECT 1 AS id FROM SYSIBM.SYSDUMMY1) q', 'user'='u', 'password'='secret');
--- spark_tables.avro | table spark provider | refused: the module is not installed
CREATE TABLE spark_tables.avro (id INT) USING avro;
--- spark_tables.rate | table spark provider | USING rate
CREATE TABLE spark_tables.rate USING rate;
--- spark_tables.delta | table spark provider | refused: Delta is not installed
CREATE TABLE spark_tables.delta (id INT) USING delta;
--- spark_tables.delta_like | table foreign format | a row as Delta writes it, by properties
CREATE TABLE spark_tables.delta_like (id INT) USING parquet;
ALTER TABLE spark_tables.delta_like SET TBLPROPERTIES ('delta.minReaderVersion'='1', 'delta.lastCommitTimestamp'='1700000000000');
--- spark_tables.external | table spark provider | with a location
CREATE TABLE spark_tables.external (id INT, name STRING) USING csv LOCATION '{files}/nulls';
--- spark_tables.inferred | table spark provider | the schema is inferred
CREATE TABLE spark_tables.inferred USING json LOCATION '{files}/json';
--- spark_tables.partitioned | table spark provider | partitioned
CREATE TABLE spark_tables.partitioned (id INT, p STRING, q DATE) USING parquet PARTITIONED BY (p, q);
INSERT INTO spark_tables.partitioned VALUES (1, 'a b', DATE'2024-01-01'), (2, NULL, NULL);
--- spark_tables.part_types | table partition types | every type
CREATE TABLE spark_tables.part_types (x INT, ti TINYINT, si SMALLINT, bi BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(5, 2), bo BOOLEAN, dt DATE, ts TIMESTAMP, nt TIMESTAMP_NTZ) USING parquet PARTITIONED BY (ti, si, bi, f, d, dc, bo, dt, ts, nt);
INSERT INTO spark_tables.part_types VALUES (1, 1, 2, 3, 0.5, 1.5, 1.2, true, DATE'2024-01-01', TIMESTAMP'2024-01-01 01:02:03', TIMESTAMP_NTZ'2024-01-01 01:02:03');
--- spark_tables.bucketed | table bucketed | CLUSTERED BY of a data source table
CREATE TABLE spark_tables.bucketed (id INT, name STRING) USING parquet CLUSTERED BY (id) SORTED BY (name) INTO 4 BUCKETS;
INSERT INTO spark_tables.bucketed VALUES (1, 'a'), (2, 'b');
--- spark_tables.clustered | table spark provider | CLUSTER BY
CREATE TABLE spark_tables.clustered (id INT, name STRING) USING parquet CLUSTER BY (id);
--- spark_tables.all_types | table types | every type
CREATE TABLE spark_tables.all_types (ti TINYINT, si SMALLINT, i INT, bi BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(38, 18), s STRING, v VARCHAR(5), c CHAR(5), b BINARY, bo BOOLEAN, dt DATE, ts TIMESTAMP, nt TIMESTAMP_NTZ, a ARRAY<INT>, m MAP<STRING, ARRAY<INT>>, st STRUCT<a: INT, `b c`: STRUCT<d: STRING>>) USING parquet;
INSERT INTO spark_tables.all_types VALUES (1, 2, 3, 4, 0.5, 1.5, 2.5, 's', 'v', 'c', X'00FF', true, DATE'1500-03-01', TIMESTAMP'2024-01-01 00:00:00', TIMESTAMP_NTZ'2024-01-01 00:00:00', array(1), map('k', array(1)), named_struct('a', 1, 'b c', named_struct('d', 'x')));
--- spark_tables.intervals | table types | interval columns
CREATE TABLE spark_tables.intervals (ym INTERVAL YEAR TO MONTH, ds INTERVAL DAY TO SECOND) USING parquet;
--- spark_tables.variant | table types | VARIANT
CREATE TABLE spark_tables.variant (v VARIANT) USING parquet;
--- spark_tables.collated | table types | a collation
CREATE TABLE spark_tables.collated (s STRING COLLATE UTF8_LCASE, t STRING COLLATE UNICODE_CI) USING parquet;
--- spark_tables.time_column | table types | TIME
CREATE TABLE spark_tables.time_column (t TIME(6)) USING parquet;
--- spark_tables.geo | table types | GEOMETRY
CREATE TABLE spark_tables.geo (g GEOMETRY(4326)) USING parquet;
--- spark_tables.void_column | table types | VOID
CREATE TABLE spark_tables.void_column (i INT, n VOID) USING orc;
--- spark_tables.wide | table types | a schema of several parts
CREATE TABLE spark_tables.wide (s STRUCT<{wide_struct}>) USING parquet;
--- spark_tables.many_columns | table types | 500 columns
CREATE TABLE spark_tables.many_columns ({many_columns}) USING parquet;
--- spark_tables.defaults | table constraints | default values and NOT NULL
CREATE TABLE spark_tables.defaults (id INT NOT NULL DEFAULT 1, n STRING DEFAULT concat('a', 'b') COMMENT 'c') USING parquet;
--- spark_tables.generated | table constraints | refused: generated columns need a catalog of version 2
CREATE TABLE spark_tables.generated (id INT, g INT GENERATED ALWAYS AS (id + 1)) USING parquet;
--- spark_tables.checked | table constraints | refused or not: CHECK
CREATE TABLE spark_tables.checked (id INT, CONSTRAINT c CHECK (id > 0)) USING parquet;
--- spark_tables.hive_text | table managed | a Hive table of Spark
CREATE TABLE spark_tables.hive_text (id INT, name STRING) USING hive;
INSERT INTO spark_tables.hive_text VALUES (1, 'a');
--- spark_tables.hive_orc | table managed | STORED AS ORC, partitioned
CREATE TABLE spark_tables.hive_orc (id INT, MixedCase STRING) PARTITIONED BY (P STRING) STORED AS ORC TBLPROPERTIES ('k'='v');
INSERT INTO spark_tables.hive_orc PARTITION (P='a') VALUES (1, 'x');
--- spark_tables.hive_serde | table serde | ROW FORMAT SERDE
CREATE TABLE spark_tables.hive_serde (a STRING) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde' LOCATION '{files}/csv';
--- spark_tables.hive_like | table managed | LIKE a table of Hive
CREATE TABLE spark_tables.hive_like LIKE hive_tables.ext USING parquet;
--- spark_tables.as_select | table spark provider | CREATE TABLE AS SELECT
CREATE TABLE spark_tables.as_select USING parquet AS SELECT id, name, current_date() AS d FROM spark_tables.parquet;
--- spark_tables.added | table evolved | columns added
CREATE TABLE spark_tables.added (a INT) USING parquet;
INSERT INTO spark_tables.added VALUES (1);
ALTER TABLE spark_tables.added ADD COLUMNS (b STRING COMMENT 'x', c STRUCT<d: INT>);
ALTER TABLE spark_tables.added ALTER COLUMN a COMMENT 'changed';
--- spark_tables.case_sensitive | table names | columns in mixed case
CREATE TABLE spark_tables.case_sensitive (Id INT, userName STRING, `two words` INT, `größe` INT, `a.b` INT, `select` INT) USING parquet;
--- spark_tables.file_gone | table gone | the directory is gone
CREATE TABLE spark_tables.file_gone (id INT) USING parquet LOCATION '{files}/gone_spark';
--- spark_tables.analyzed | table properties | with statistics
CREATE TABLE spark_tables.analyzed (id INT, name STRING) USING parquet;
INSERT INTO spark_tables.analyzed VALUES (1, 'a');
ANALYZE TABLE spark_tables.analyzed COMPUTE STATISTICS FOR ALL COLUMNS;
--- spark_tables.moved | table evolved | renamed
CREATE TABLE spark_tables.moving (id INT) USING parquet;
ALTER TABLE spark_tables.moving RENAME TO spark_tables.moved;

--- spark_tables.f_sql | function | a SQL function
CREATE FUNCTION spark_tables.f_sql(x INT) RETURNS INT RETURN x + 1;
--- spark_tables.f_table | function | a SQL table function
CREATE FUNCTION spark_tables.f_table(x INT) RETURNS TABLE (id INT) RETURN SELECT id FROM spark_tables.parquet WHERE id > x;
--- spark_tables.f_jar | function | from a JAR
CREATE FUNCTION spark_tables.f_jar AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper' USING JAR '{files}/empty.jar';

--- spark_views.plain | view | one source
CREATE VIEW spark_views.plain AS SELECT * FROM spark_tables.parquet;
--- spark_views.columns | view columns | column list, comments, properties
CREATE VIEW spark_views.columns (a COMMENT 'first', B COMMENT 'ü ☃ it''s') COMMENT 'of columns' TBLPROPERTIES ('k'='v') AS SELECT id, name FROM spark_tables.parquet;
--- spark_views.binding | view schema mode | WITH SCHEMA BINDING
CREATE VIEW spark_views.binding WITH SCHEMA BINDING AS SELECT id FROM spark_tables.parquet;
--- spark_views.compensation | view schema mode | WITH SCHEMA COMPENSATION
CREATE VIEW spark_views.compensation WITH SCHEMA COMPENSATION AS SELECT id FROM spark_tables.parquet;
--- spark_views.type_evolution | view schema mode | WITH SCHEMA TYPE EVOLUTION
CREATE VIEW spark_views.type_evolution WITH SCHEMA TYPE EVOLUTION AS SELECT id FROM spark_tables.parquet;
--- spark_views.evolution | view schema mode | WITH SCHEMA EVOLUTION
CREATE VIEW spark_views.evolution WITH SCHEMA EVOLUTION AS SELECT * FROM spark_tables.parquet;
--- spark_views.altered_mode | view schema mode | ALTER VIEW WITH SCHEMA
CREATE VIEW spark_views.altered_mode AS SELECT id FROM spark_tables.parquet;
ALTER VIEW spark_views.altered_mode WITH SCHEMA EVOLUTION;
--- spark_views.unqualified | view | names without a database
USE spark_tables;
CREATE VIEW spark_views.unqualified AS SELECT p.id FROM parquet p JOIN orc o ON p.id = o.id;
USE default;
--- spark_views.settings | view settings | with settings that a view records
SET spark.sql.ansi.enabled=false;
SET spark.sql.session.timeZone=Asia/Tokyo;
SET spark.sql.caseSensitive=false;
SET spark.sql.legacy.timeParserPolicy=LEGACY;
CREATE VIEW spark_views.settings AS SELECT CAST(name AS INT) AS n, hour(TIMESTAMP'2024-01-01 00:00:00 UTC') AS h, 1 / 0 AS z FROM spark_tables.parquet;
RESET;
--- spark_views.double_quoted | view settings | spark.sql.ansi.doubleQuotedIdentifiers
SET spark.sql.ansi.enforceReservedKeywords=true;
SET spark.sql.ansi.doubleQuotedIdentifiers=true;
CREATE VIEW spark_views.double_quoted AS SELECT "id" AS "an id" FROM spark_tables.parquet;
RESET;
--- spark_views.ordinal | view settings | GROUP BY ordinal and alias
CREATE VIEW spark_views.ordinal AS SELECT upper(name) AS u, count(*) AS c FROM spark_tables.parquet GROUP BY u ORDER BY 2;
--- spark_views.over_views | view over views | over views of Spark and Hive
CREATE VIEW spark_views.over_views AS SELECT a.id, b.name FROM spark_views.plain a LEFT JOIN hive_views.plain b ON a.id = b.id;
--- spark_views.over_hive | view | over a table of Hive
CREATE VIEW spark_views.over_hive AS SELECT id, name, p FROM hive_tables.ext;
--- spark_views.over_acid | view | over an ACID table
CREATE VIEW spark_views.over_acid AS SELECT * FROM hive_acid.full_acid;
--- spark_views.cte | view | CTE, nested
CREATE VIEW spark_views.cte AS WITH a AS (SELECT id FROM spark_tables.parquet), b AS (SELECT id + 1 AS x FROM a) SELECT x FROM b;
--- spark_views.recursive | view | a recursive CTE
CREATE VIEW spark_views.recursive AS WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r;
--- spark_views.pipe | view | SQL pipes
CREATE VIEW spark_views.pipe AS FROM spark_tables.parquet |> WHERE id > 0 |> AGGREGATE count(*) AS c GROUP BY name;
--- spark_views.lateral_view | view lateral | LATERAL VIEW
CREATE VIEW spark_views.lateral_view AS SELECT i, e FROM spark_tables.all_types LATERAL VIEW explode(a) x AS e;
--- spark_views.lateral_join | view lateral | LATERAL subquery and table function
CREATE VIEW spark_views.lateral_join AS SELECT t.id, s.n FROM spark_tables.parquet t, LATERAL (SELECT t.id + 1 AS n) s, explode(array(1, 2)) AS e(x);
--- spark_views.pivot | view | PIVOT
CREATE VIEW spark_views.pivot AS SELECT * FROM (SELECT id, name FROM spark_tables.parquet) PIVOT (count(id) FOR name IN ('a' AS a, 'b' AS b));
--- spark_views.unpivot | view | UNPIVOT
CREATE VIEW spark_views.unpivot AS SELECT * FROM (SELECT id, id + 1 AS id2 FROM spark_tables.parquet) UNPIVOT (v FOR k IN (id, id2));
--- spark_views.sampled | view sample | TABLESAMPLE
CREATE VIEW spark_views.sampled AS SELECT * FROM spark_tables.parquet TABLESAMPLE (50 PERCENT) REPEATABLE (1);
--- spark_views.transform | view transform | TRANSFORM
CREATE VIEW spark_views.transform AS SELECT TRANSFORM (id) USING 'cat' AS (x STRING) FROM spark_tables.parquet;
--- spark_views.metadata | view virtual columns | _metadata
CREATE VIEW spark_views.metadata AS SELECT _metadata.file_size > 0 AS has_size, id FROM spark_tables.parquet;
--- spark_views.file_name | view virtual columns | input_file_name
CREATE VIEW spark_views.file_name AS SELECT input_file_name() LIKE '%parquet' AS f, monotonically_increasing_id() AS m FROM spark_tables.parquet;
--- spark_views.direct_file | view | a file as a table
CREATE VIEW spark_views.direct_file AS SELECT * FROM csv.`{files}/nulls`;
--- spark_views.quoted | view names | quoted names
CREATE VIEW spark_views.quoted AS SELECT id AS `a b`, name AS `c``d`, d AS `größe`, id + 1 AS `x.y` FROM spark_tables.parquet;
--- spark_views.mixedcase | view names | mixed case
CREATE VIEW spark_views.MixedCase AS SELECT Id, userName FROM spark_tables.case_sensitive;
--- spark_views.types | view types | every type
CREATE VIEW spark_views.types AS SELECT * FROM spark_tables.all_types;
--- spark_views.intervals | view types | intervals
CREATE VIEW spark_views.intervals AS SELECT INTERVAL '1' MONTH AS ym, INTERVAL '1' DAY AS ds;
--- spark_views.variant | view types | VARIANT
CREATE VIEW spark_views.variant AS SELECT parse_json('{"a": 1}') AS v;
--- spark_views.variant_path | view types | a path of a VARIANT
CREATE VIEW spark_views.variant_path AS SELECT v:a::int AS a FROM spark_tables.variant;
--- spark_views.collated | view types | a collation
CREATE VIEW spark_views.collated AS SELECT s, name COLLATE UTF8_LCASE AS l FROM spark_tables.collated CROSS JOIN spark_tables.parquet;
--- spark_views.sql_function | view function | a SQL function
CREATE VIEW spark_views.sql_function AS SELECT spark_tables.f_sql(id) AS f FROM spark_tables.parquet;
--- spark_views.table_function | view function | a SQL table function
USE spark_tables;
CREATE VIEW spark_views.table_function AS SELECT * FROM f_table(0);
USE default;
--- spark_views.functions | view function | functions of Spark
CREATE VIEW spark_views.functions AS SELECT try_divide(1, 0) AS t, transform(array(1, 2), x -> x + 1) AS h, date_trunc('MONTH', d) AS dt, map_from_arrays(array('a'), array(1)) AS m, to_json(named_struct('a', 1)) AS j, current_user() = current_user() AS u FROM spark_tables.parquet;
--- spark_views.range | view function | range
CREATE VIEW spark_views.range AS SELECT id FROM range(3);
--- spark_views.values_only | view | VALUES
CREATE VIEW spark_views.values_only AS VALUES (1, 'a'), (2, 'b');
--- spark_views.altered | view | ALTER VIEW AS
CREATE VIEW spark_views.altered AS SELECT 1 AS one;
ALTER VIEW spark_views.altered AS SELECT id AS two FROM spark_tables.parquet;
--- spark_views.replaced | view | CREATE OR REPLACE VIEW
CREATE VIEW spark_views.replaced AS SELECT 1 AS one;
CREATE OR REPLACE VIEW spark_views.replaced (n) AS SELECT id FROM spark_tables.parquet;
--- spark_views.renamed | view | renamed
CREATE VIEW spark_views.before AS SELECT id FROM spark_tables.parquet;
ALTER VIEW spark_views.before RENAME TO spark_views.renamed;
--- spark_views.over_gone | view gone | its table is dropped
CREATE TABLE spark_tables.dropped (id INT) USING parquet;
CREATE VIEW spark_views.over_gone AS SELECT id FROM spark_tables.dropped;
DROP TABLE spark_tables.dropped;
--- spark_views.column_gone | view gone | its table was replaced without a column
CREATE TABLE spark_tables.loses (a INT, b INT) USING parquet;
CREATE VIEW spark_views.column_gone AS SELECT a, b FROM spark_tables.loses;
DROP TABLE spark_tables.loses;
CREATE TABLE spark_tables.loses (a INT) USING parquet;
--- spark_views.over_jdbc | view | over a table of another database
CREATE VIEW spark_views.over_jdbc AS SELECT id FROM spark_tables.jdbc;
--- spark_views.over_hive_unions | view | refused: a uniontype
CREATE VIEW spark_views.over_hive_unions AS SELECT id FROM hive_tables.unions;
--- spark_views.temporary_below | view | refused: over a temporary view
CREATE TEMPORARY VIEW tv AS SELECT 1 AS a;
CREATE VIEW spark_views.temporary_below AS SELECT * FROM tv;
--- spark_views.long_text | view | a text of 25,000 characters
CREATE VIEW spark_views.long_text AS SELECT id FROM spark_tables.parquet WHERE name IN ({long_list});
--- spark_views.many_columns | view | 500 columns
CREATE VIEW spark_views.many_columns AS SELECT * FROM spark_tables.many_columns;
--- spark_views.comments | view | comments and hints
CREATE VIEW spark_views.comments AS SELECT /*+ BROADCAST(b) */ a.id /* why */ FROM spark_tables.parquet a -- which
JOIN spark_tables.orc b ON a.id = b.id;
--- spark_views.metric | view metric | refused or not: a metric view
CREATE VIEW spark_views.metric WITH METRICS LANGUAGE YAML AS $$version: 0.1
source: spark_tables.parquet
measures:
- name: c
  expr: count(*)
$$;
--- spark_views.time_window | view | window functions
CREATE VIEW spark_views.time_window AS SELECT window(ts, '1 day').start AS w, count(*) AS c FROM spark_tables.all_types GROUP BY window(ts, '1 day');
--- hive_views.or_replaced_by_spark | replacement | Spark replaces a view of Hive
CREATE OR REPLACE VIEW hive_views.or_replaced AS SELECT id, name, p AS extra FROM hive_tables.ext;
