-- Objects that Spark with Iceberg creates, in its catalog `prod` and in Iceberg's session catalog.

--- iceberg_tables | database | tables of Iceberg by Spark
CREATE DATABASE prod.iceberg_tables;
--- iceberg_views | database | views of Iceberg by Spark
CREATE DATABASE prod.iceberg_views COMMENT 'views';

--- iceberg_tables.v1 | table iceberg | format version 1
CREATE TABLE prod.iceberg_tables.v1 (id INT, name STRING) USING iceberg TBLPROPERTIES ('format-version'='1');
INSERT INTO prod.iceberg_tables.v1 VALUES (1, 'a');
--- iceberg_tables.v2 | table iceberg | format version 2, several snapshots
CREATE TABLE prod.iceberg_tables.v2 (id INT NOT NULL COMMENT 'the id', name STRING, ts TIMESTAMP) USING iceberg COMMENT 'of version 2';
INSERT INTO prod.iceberg_tables.v2 VALUES (1, 'a', TIMESTAMP'2024-01-01 00:00:00'), (2, 'b', NULL);
INSERT INTO prod.iceberg_tables.v2 VALUES (3, 'c', NULL);
DELETE FROM prod.iceberg_tables.v2 WHERE id = 2;
--- iceberg_tables.v3 | table iceberg | format version 3
CREATE TABLE prod.iceberg_tables.v3 (id INT, name STRING) USING iceberg TBLPROPERTIES ('format-version'='3');
INSERT INTO prod.iceberg_tables.v3 VALUES (1, 'a');
--- iceberg_tables.v3_variant | table iceberg | VARIANT of format version 3
CREATE TABLE prod.iceberg_tables.v3_variant (id INT, v VARIANT) USING iceberg TBLPROPERTIES ('format-version'='3');
--- iceberg_tables.merge_on_read | table iceberg | position deletes
CREATE TABLE prod.iceberg_tables.merge_on_read (id INT, name STRING) USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read');
INSERT INTO prod.iceberg_tables.merge_on_read SELECT id, 'x' FROM range(5);
DELETE FROM prod.iceberg_tables.merge_on_read WHERE id = 2;
--- iceberg_tables.partitioned | table iceberg | every transform
CREATE TABLE prod.iceberg_tables.partitioned (id BIGINT, name STRING, d DATE, ts TIMESTAMP, p STRING) USING iceberg PARTITIONED BY (p, bucket(4, id), truncate(3, name), years(d), days(ts));
INSERT INTO prod.iceberg_tables.partitioned VALUES (1, 'abcdef', DATE'2024-01-01', TIMESTAMP'2024-01-01 01:00:00', 'x');
--- iceberg_tables.respecified | table iceberg | the partition specification changed
CREATE TABLE prod.iceberg_tables.respecified (id INT, p STRING) USING iceberg PARTITIONED BY (p);
INSERT INTO prod.iceberg_tables.respecified VALUES (1, 'a');
ALTER TABLE prod.iceberg_tables.respecified REPLACE PARTITION FIELD p WITH bucket(2, id);
INSERT INTO prod.iceberg_tables.respecified VALUES (2, 'b');
--- iceberg_tables.evolved | table iceberg | columns renamed, dropped, reordered, widened
CREATE TABLE prod.iceberg_tables.evolved (a INT, b STRING, c FLOAT, d DECIMAL(5, 2), s STRUCT<x: INT>) USING iceberg;
INSERT INTO prod.iceberg_tables.evolved VALUES (1, 'x', 1.5, 2.5, named_struct('x', 1));
ALTER TABLE prod.iceberg_tables.evolved RENAME COLUMN a TO a2;
ALTER TABLE prod.iceberg_tables.evolved DROP COLUMN b;
ALTER TABLE prod.iceberg_tables.evolved ALTER COLUMN c TYPE DOUBLE;
ALTER TABLE prod.iceberg_tables.evolved ALTER COLUMN d TYPE DECIMAL(10, 2);
ALTER TABLE prod.iceberg_tables.evolved ALTER COLUMN d FIRST;
ALTER TABLE prod.iceberg_tables.evolved ADD COLUMN s.y STRING;
ALTER TABLE prod.iceberg_tables.evolved ADD COLUMN b INT AFTER a2;
--- iceberg_tables.all_types | table types | every type
CREATE TABLE prod.iceberg_tables.all_types (i INT, bi BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(38, 18), s STRING, b BINARY, bo BOOLEAN, dt DATE, ts TIMESTAMP, nt TIMESTAMP_NTZ, a ARRAY<INT>, m MAP<STRING, ARRAY<INT>>, st STRUCT<a: INT, b: STRUCT<d: STRING>>) USING iceberg;
INSERT INTO prod.iceberg_tables.all_types VALUES (3, 4, 0.5, 1.5, 2.5, 's', X'00FF', true, DATE'1500-03-01', TIMESTAMP'2024-01-01 00:00:00', TIMESTAMP_NTZ'2024-01-01 00:00:00', array(1), map('k', array(1)), named_struct('a', 1, 'b', named_struct('d', 'x')));
--- iceberg_tables.formats | table iceberg | ORC and Avro files
CREATE TABLE prod.iceberg_tables.formats (id INT) USING iceberg TBLPROPERTIES ('write.format.default'='orc');
INSERT INTO prod.iceberg_tables.formats VALUES (1);
ALTER TABLE prod.iceberg_tables.formats SET TBLPROPERTIES ('write.format.default'='avro');
INSERT INTO prod.iceberg_tables.formats VALUES (2);
--- iceberg_tables.branched | table iceberg | a branch and a tag
CREATE TABLE prod.iceberg_tables.branched (id INT) USING iceberg;
INSERT INTO prod.iceberg_tables.branched VALUES (1);
ALTER TABLE prod.iceberg_tables.branched CREATE BRANCH b1;
ALTER TABLE prod.iceberg_tables.branched CREATE TAG t1;
--- iceberg_tables.for_hive | table iceberg | engine.hive.enabled: with Hive's storage handler
CREATE TABLE prod.iceberg_tables.for_hive (id INT, name STRING) USING iceberg TBLPROPERTIES ('engine.hive.enabled'='true');
INSERT INTO prod.iceberg_tables.for_hive VALUES (1, 'a');
--- iceberg_tables.without_lock | table iceberg | engine.hive.lock-enabled is false
CREATE TABLE prod.iceberg_tables.without_lock (id INT) USING iceberg TBLPROPERTIES ('engine.hive.lock-enabled'='false');
INSERT INTO prod.iceberg_tables.without_lock VALUES (1);
--- iceberg_tables.owned | table owner | refused: the owner is a property
CREATE TABLE prod.iceberg_tables.owned (id INT) USING iceberg TBLPROPERTIES ('owner'='carol', 'comment'='owned', 'write.object-storage.enabled'='true');
--- iceberg_tables.located | table iceberg | with a location
CREATE TABLE prod.iceberg_tables.located (id INT) USING iceberg LOCATION '{warehouse}/elsewhere/located';
--- iceberg_tables.as_select | table iceberg | CREATE TABLE AS SELECT, replaced
CREATE TABLE prod.iceberg_tables.as_select USING iceberg AS SELECT id, name FROM prod.iceberg_tables.v1;
REPLACE TABLE prod.iceberg_tables.as_select USING iceberg AS SELECT id FROM prod.iceberg_tables.v1;
--- iceberg_tables.wide | table types | a schema longer than a parameter
CREATE TABLE prod.iceberg_tables.wide (s STRUCT<{wide_struct}>) USING iceberg;
--- iceberg_tables.many_columns | table types | 500 columns
CREATE TABLE prod.iceberg_tables.many_columns ({many_columns}) USING iceberg;
--- iceberg_tables.names | table names | columns of every alphabet
CREATE TABLE prod.iceberg_tables.names (Id INT, `two words` INT, `größe` INT, `日本` INT, `a.b` INT, `select` INT) USING iceberg;
--- iceberg_tables.files_gone | table gone | the metadata file is deleted afterwards
CREATE TABLE prod.iceberg_tables.files_gone (id INT) USING iceberg;
--- iceberg_tables.session | table iceberg | by Iceberg's session catalog
CREATE TABLE iceberg_tables.session (id INT, name STRING) USING iceberg;
INSERT INTO iceberg_tables.session VALUES (1, 'a');
--- iceberg_tables.session_parquet | table spark provider | a Parquet table through Iceberg's session catalog
CREATE TABLE iceberg_tables.session_parquet (id INT) USING parquet;
--- iceberg_tables.migrated | table iceberg | a Hive table that was migrated
CREATE TABLE iceberg_tables.migrated (id INT, name STRING) USING parquet;
INSERT INTO iceberg_tables.migrated VALUES (1, 'a');
CALL spark_catalog.system.migrate('iceberg_tables.migrated');
--- iceberg_tables.snapshotted | table iceberg | a snapshot of a Hive table
CALL spark_catalog.system.snapshot('spark_tables.parquet', 'iceberg_tables.snapshotted');
--- iceberg_tables.renamed | table iceberg | renamed
CREATE TABLE prod.iceberg_tables.before (id INT) USING iceberg;
ALTER TABLE prod.iceberg_tables.before RENAME TO prod.iceberg_tables.renamed;

--- iceberg_views.plain | view iceberg | one source
CREATE VIEW prod.iceberg_views.plain AS SELECT * FROM prod.iceberg_tables.v2;
--- iceberg_views.columns | view iceberg | column list, comments, properties
CREATE VIEW prod.iceberg_views.columns (a COMMENT 'first', b COMMENT 'ü ☃') COMMENT 'of columns' TBLPROPERTIES ('k'='v') AS SELECT id, name FROM prod.iceberg_tables.v2;
--- iceberg_views.replaced | view iceberg | three versions
CREATE VIEW prod.iceberg_views.replaced AS SELECT 1 AS one;
CREATE OR REPLACE VIEW prod.iceberg_views.replaced AS SELECT id FROM prod.iceberg_tables.v2;
CREATE OR REPLACE VIEW prod.iceberg_views.replaced AS SELECT id, name FROM prod.iceberg_tables.v2;
--- iceberg_views.unqualified | view iceberg | the current catalog and database
USE prod.iceberg_tables;
CREATE VIEW prod.iceberg_views.unqualified AS SELECT v.id FROM v2 v JOIN v1 ON v.id = v1.id;
USE spark_catalog.default;
--- iceberg_views.from_session_catalog | view iceberg | names of the session catalog
CREATE VIEW prod.iceberg_views.from_session_catalog AS SELECT id FROM spark_catalog.hive_tables.ext;
--- iceberg_views.mixed | view iceberg | tables of two catalogs
CREATE VIEW prod.iceberg_views.mixed AS SELECT a.id FROM prod.iceberg_tables.v2 a JOIN spark_catalog.spark_tables.parquet b ON a.id = b.id;
--- iceberg_views.over_views | view iceberg | over views
CREATE VIEW prod.iceberg_views.over_views AS SELECT * FROM prod.iceberg_views.plain JOIN prod.iceberg_views.columns ON id = a;
--- iceberg_views.properties | view iceberg | ALTER VIEW SET TBLPROPERTIES
CREATE VIEW prod.iceberg_views.properties AS SELECT id FROM prod.iceberg_tables.v2;
ALTER VIEW prod.iceberg_views.properties SET TBLPROPERTIES ('k'='v', 'version.history.num-entries'='2');
ALTER VIEW prod.iceberg_views.properties UNSET TBLPROPERTIES ('k');
--- iceberg_views.renamed | view iceberg | renamed
CREATE VIEW prod.iceberg_views.before AS SELECT id FROM prod.iceberg_tables.v2;
ALTER VIEW prod.iceberg_views.before RENAME TO prod.iceberg_views.renamed;
--- iceberg_views.cte | view iceberg | a CTE and a window
CREATE VIEW prod.iceberg_views.cte AS WITH q AS (SELECT id, row_number() OVER (ORDER BY id) AS r FROM prod.iceberg_tables.v2) SELECT * FROM q;
--- iceberg_views.named_window | view iceberg | a WINDOW clause
CREATE VIEW prod.iceberg_views.named_window AS SELECT id, sum(id) OVER w AS s FROM prod.iceberg_tables.v2 WINDOW w AS (ORDER BY id);
--- iceberg_views.types | view iceberg | every type
CREATE VIEW prod.iceberg_views.types AS SELECT * FROM prod.iceberg_tables.all_types;
--- iceberg_views.char_types | view iceberg | types that Iceberg lacks
CREATE VIEW prod.iceberg_views.char_types AS SELECT CAST('a' AS CHAR(3)) AS c, CAST(1 AS TINYINT) AS t, CAST('a' AS VARCHAR(3)) AS v;
--- iceberg_views.interval | view iceberg | refused: an interval
CREATE VIEW prod.iceberg_views.interval AS SELECT INTERVAL '1' DAY AS i;
--- iceberg_views.quoted view | view iceberg | quoted names
CREATE VIEW prod.iceberg_views.`quoted view` AS SELECT id AS `a b`, name AS `c``d` FROM prod.iceberg_tables.v2;
--- iceberg_views.names | view iceberg | columns of every alphabet
CREATE VIEW prod.iceberg_views.names AS SELECT * FROM prod.iceberg_tables.names;
--- iceberg_views.time_travel | view iceberg | a branch
CREATE VIEW prod.iceberg_views.time_travel AS SELECT * FROM prod.iceberg_tables.branched VERSION AS OF 'b1';
--- iceberg_views.metadata_table | view iceberg | a metadata table
CREATE VIEW prod.iceberg_views.metadata_table AS SELECT count(*) AS c FROM prod.iceberg_tables.v2.snapshots;
--- iceberg_views.over_gone | view iceberg | its table is dropped
CREATE TABLE prod.iceberg_tables.dropped (id INT) USING iceberg;
CREATE VIEW prod.iceberg_views.over_gone AS SELECT id FROM prod.iceberg_tables.dropped;
DROP TABLE prod.iceberg_tables.dropped PURGE;
--- iceberg_views.files_gone | view iceberg | the metadata file is deleted afterwards
CREATE VIEW prod.iceberg_views.files_gone AS SELECT id FROM prod.iceberg_tables.v2;
--- iceberg_views.file_damaged | view iceberg | the metadata file is cut afterwards
CREATE VIEW prod.iceberg_views.file_damaged AS SELECT id FROM prod.iceberg_tables.v2;
--- iceberg_views.session_view | view | a view in Iceberg's session catalog
CREATE VIEW spark_catalog.iceberg_views.session_view AS SELECT id FROM prod.iceberg_tables.v2;
--- iceberg_views.hive_over_iceberg | view | a Hive view over an Iceberg table
CREATE VIEW spark_catalog.iceberg_views.hive_over_iceberg AS SELECT id, name FROM iceberg_tables.session;
--- iceberg_views.over_files_gone | view | a view over an Iceberg table whose files are deleted afterwards
CREATE TABLE prod.iceberg_tables.files_gone_later (id INT) USING iceberg;
INSERT INTO prod.iceberg_tables.files_gone_later VALUES (1);
CREATE VIEW spark_catalog.iceberg_views.over_files_gone AS SELECT id FROM iceberg_tables.files_gone_later;
