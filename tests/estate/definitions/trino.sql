-- Objects that Trino creates through its connectors for Hive and Iceberg.

--- trino_hive | database | objects of the Hive connector
CREATE SCHEMA hive.trino_hive;
--- trino_iceberg | database | objects of the Iceberg connector
CREATE SCHEMA iceberg.trino_iceberg;
--- trino_hive.orc | table managed | the default format
CREATE TABLE hive.trino_hive.orc AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t (id, name);
--- trino_hive.parquet | table format | PARQUET, partitioned and bucketed
CREATE TABLE hive.trino_hive.parquet (id integer, name varchar(5), p varchar) COMMENT 'c' WITH (format = 'PARQUET', partitioned_by = ARRAY['p'], bucketed_by = ARRAY['id'], bucket_count = 2, sorted_by = ARRAY['name']);
INSERT INTO hive.trino_hive.parquet VALUES (1, 'a', 'x');
--- trino_hive.csv | table format | CSV
CREATE TABLE hive.trino_hive.csv (a varchar, b varchar) WITH (format = 'CSV', csv_separator = '|', skip_header_line_count = 1);
--- trino_hive.avro | table format | AVRO
CREATE TABLE hive.trino_hive.avro (a integer) WITH (format = 'AVRO');
--- trino_hive.json | table format | JSON
CREATE TABLE hive.trino_hive.json (a integer) WITH (format = 'JSON');
--- trino_hive.open_x_json | table format | OPENX_JSON
CREATE TABLE hive.trino_hive.open_x_json (a integer) WITH (format = 'OPENX_JSON');
--- trino_hive.regex | table format | REGEX
CREATE TABLE hive.trino_hive.regex (a varchar) WITH (format = 'REGEX', regex = '(.*)');
--- trino_hive.rc_binary | table format | RCBINARY
CREATE TABLE hive.trino_hive.rc_binary (a integer) WITH (format = 'RCBINARY');
--- trino_hive.acid | table acid | transactional
CREATE TABLE hive.trino_hive.acid (a integer) WITH (format = 'ORC', transactional = true);
--- trino_hive.external | table external | with a location
CREATE TABLE hive.trino_hive.external (a varchar, b varchar) WITH (format = 'CSV', external_location = '{files}/csv');
--- trino_hive.types | table types | every type
CREATE TABLE hive.trino_hive.types (a tinyint, b smallint, c integer, d bigint, e real, f double, g decimal(38,18), h varchar, i varchar(10), j char(10), k varbinary, l date, m timestamp(3), n boolean, o array(integer), p map(varchar, bigint), q row(x integer, y row(z varchar)));
--- trino_hive.definer | view hive | SECURITY DEFINER
CREATE VIEW hive.trino_hive.definer COMMENT 'of orc' AS SELECT id FROM hive.trino_hive.orc WHERE name = 'b';
--- trino_hive.invoker | view hive | SECURITY INVOKER, comments of columns
CREATE VIEW hive.trino_hive.invoker SECURITY INVOKER AS SELECT * FROM hive.trino_hive.orc;
COMMENT ON COLUMN hive.trino_hive.invoker.id IS 'the id';
--- trino_hive.functions | view hive | types and functions of Trino
CREATE VIEW hive.trino_hive.functions AS SELECT id, name || 'x' AS c, TIME '01:00:00' AS t, INTERVAL '1' DAY AS i, approx_distinct(id) OVER () AS a, ARRAY[1] AS r, JSON '{"a":1}' AS j, current_timestamp AS z FROM hive.trino_hive.orc;
--- trino_hive.over_hive | view hive | over a view of Hive
CREATE VIEW hive.trino_hive.over_hive AS SELECT id FROM hive.hive_views.plain;
--- trino_hive.over_iceberg | view hive | over a table of the other connector
CREATE VIEW hive.trino_hive.over_iceberg AS SELECT id FROM iceberg.iceberg_tables.v2;
--- trino_hive.quoted view | view hive | quoted names
CREATE VIEW hive.trino_hive."quoted view" AS SELECT id AS "A b", name AS "c""d" FROM hive.trino_hive.orc;
--- trino_iceberg.plain | table iceberg | the default
CREATE TABLE iceberg.trino_iceberg.plain AS SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, 'c')) AS t (id, name);
--- trino_iceberg.parts | table iceberg | partitions, a sort order, ORC
CREATE TABLE iceberg.trino_iceberg.parts (id integer, name varchar, d date) WITH (partitioning = ARRAY['bucket(id, 4)', 'month(d)'], sorted_by = ARRAY['name'], format = 'ORC', format_version = 2);
INSERT INTO iceberg.trino_iceberg.parts VALUES (1, 'a', DATE '2024-01-01');
DELETE FROM iceberg.trino_iceberg.parts WHERE id = 1;
--- trino_iceberg.definer | view iceberg | a view of the Iceberg connector
CREATE VIEW iceberg.trino_iceberg.definer AS SELECT * FROM iceberg.trino_iceberg.plain;
--- trino_iceberg.over_views | view iceberg | over a view
CREATE VIEW iceberg.trino_iceberg.over_views SECURITY INVOKER AS SELECT id FROM iceberg.trino_iceberg.definer WHERE id < 3;
--- trino_iceberg.stored | materialized view iceberg | refreshed
CREATE MATERIALIZED VIEW iceberg.trino_iceberg.stored GRACE PERIOD INTERVAL '1' HOUR COMMENT 'stored rows' AS SELECT id, name FROM iceberg.trino_iceberg.plain WHERE id > 1;
REFRESH MATERIALIZED VIEW iceberg.trino_iceberg.stored;
--- trino_iceberg.stored_parts | materialized view iceberg | partitioned, not refreshed
CREATE MATERIALIZED VIEW iceberg.trino_iceberg.stored_parts WITH (partitioning = ARRAY['name']) AS SELECT id, name FROM iceberg.trino_iceberg.plain;
--- trino_iceberg.stored_failing | materialized view iceberg | WHEN STALE FAIL
CREATE MATERIALIZED VIEW iceberg.trino_iceberg.stored_failing GRACE PERIOD INTERVAL '0' SECOND WHEN STALE FAIL AS SELECT id FROM iceberg.trino_iceberg.plain;
--- trino_iceberg.over_spark | view iceberg | over a table of Spark
CREATE VIEW iceberg.trino_iceberg.over_spark AS SELECT id FROM iceberg.iceberg_tables.v2;
