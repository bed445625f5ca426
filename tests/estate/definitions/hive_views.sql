-- Views and materialized views of this package; Python expressions on `catalog`.

--- own_views | database | views of this package
catalog.create_namespace('own_views');
--- own_views.over_iceberg | view own | over an Iceberg table
catalog.execute("CREATE VIEW own_views.over_iceberg (a COMMENT 'first') COMMENT 'c' AS SELECT id FROM iceberg_tables.v2");
--- own_views.over_hive | view own | over a table of Hive
catalog.execute("CREATE VIEW own_views.over_hive AS SELECT * FROM hive_tables.ext");
--- own_views.over_views | view own | over views of every engine
catalog.execute("CREATE VIEW own_views.over_views AS SELECT a.id FROM hive_views.plain a JOIN spark_views.plain b ON a.id = b.id");
--- own_views.over_acid | view own | over an ACID table
catalog.execute("CREATE VIEW own_views.over_acid AS SELECT * FROM hive_acid.full_acid");
--- own_views.over_unions | view own | over a table with a uniontype
catalog.execute("CREATE VIEW own_views.over_unions AS SELECT id FROM hive_tables.unions");
--- own_views.replaced | view own | two versions
catalog.execute("CREATE VIEW own_views.replaced AS SELECT 1 AS one");
catalog.execute("CREATE OR REPLACE VIEW own_views.replaced AS SELECT id FROM iceberg_tables.v2");
--- own_views.trino_text | view own | in Trino's dialect
catalog.execute('CREATE VIEW own_views.trino_text AS SELECT "id" FROM iceberg_tables.v2', dialect='trino');
--- own_views.over_gone | view own | its table is dropped
catalog.create_table('own_views.dropped', schema(IntegerType()));
catalog.execute("CREATE VIEW own_views.over_gone AS SELECT c1 FROM own_views.dropped");
catalog.drop_table('own_views.dropped');
--- own_views.stored | materialized view own | never refreshed
catalog.execute("CREATE MATERIALIZED VIEW own_views.stored AS SELECT id, count(*) AS n FROM iceberg_tables.v2 GROUP BY id");
--- own_views.stored_table | materialized view own | of the layout table
catalog.execute("CREATE MATERIALIZED VIEW own_views.stored_table TBLPROPERTIES ('hive-views.layout'='table') AS SELECT id, name FROM iceberg_tables.v2");
--- own_views.stored_over_hive | materialized view own | over a table of Hive
catalog.execute("CREATE MATERIALIZED VIEW own_views.stored_over_hive AS SELECT id, name FROM hive_tables.ext");
--- own_views.table | table iceberg | a table of this package
catalog.create_table('own_views.table', schema(IntegerType()));
