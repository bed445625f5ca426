-- Objects that Hive's driver creates. A line `--- name | kind | comment` begins an object; a statement ends with a
-- semicolon at the end of a line. {files} is the directory of text files that the builder writes.
-- The forms follow createTableStatement, createViewStatement, createMaterializedViewStatement,
-- createDataConnectorStatement, createMacroStatement and createFunctionStatement of HiveParser.g and CreateDDLParser.g,
-- and the storage formats and SerDes of the services and classes in hive-exec 4.1.0.

--- hive_tables | database | with a comment, a location for managed tables, properties and an owner
create database hive_tables comment 'Tables of Hive: ü ☃ ''quoted''' managedlocation '{warehouse}/hive_tables_managed.db' with dbproperties('team'='bi','edited by'='Jörg');
alter database hive_tables set owner user alice;
--- hive_acid | database | transactional tables
create database hive_acid;
--- hive_views | database | views of Hive
create database hive_views;
--- hive_names | database | names
create database hive_names;
--- empty_database | database | without objects
create database empty_database;
--- role_owned | database | a role is its owner
create database role_owned;
alter database role_owned set owner role analysts;
--- pgc | connector | a connector to PostgreSQL; nothing listens there
create connector pgc type 'postgres' url 'jdbc:postgresql://127.0.0.1:1/x' comment 'a connector' with dcproperties('hive.sql.dbcp.username'='u','hive.sql.dbcp.password'='p');
--- derbyc | connector | a connector to Derby
create connector derbyc type 'derby' url 'jdbc:derby:memory:none';
--- remote_pg | database remote | a remote database
create remote database remote_pg using pgc with dbproperties('connector.remoteDbName'='x');
--- remote_derby | database remote | a remote database
create remote database remote_derby using derbyc with dbproperties('connector.remoteDbName'='APP');

--- hive_tables.managed | table managed | the default format
create table hive_tables.managed (id int, name string) comment 'plain';
insert into hive_tables.managed values (1,'a'),(2,null);
--- hive_tables.managed_word | table managed | CREATE MANAGED TABLE
create managed table hive_tables.managed_word (id int);
--- hive_tables.transactional_word | table acid | CREATE TRANSACTIONAL TABLE
create transactional table hive_tables.transactional_word (id int) stored as orc;
--- hive_tables.ext | table external | partitioned, Parquet; the source of many views
create external table hive_tables.ext (id int, name string, d date) partitioned by (p string) stored as parquet;
insert into hive_tables.ext partition(p='a') values (1,'x',date'2024-01-01'),(2,'axb',date'2024-02-29');
insert into hive_tables.ext partition(p='b') values (3,null,null);
--- hive_tables.purged | table external | with external.table.purge
create external table hive_tables.purged (id int) stored as orc tblproperties('external.table.purge'='TRUE');
--- hive_tables.as_select | table managed | CREATE TABLE AS SELECT
create table hive_tables.as_select stored as orc as select id, name, p from hive_tables.ext;
--- hive_tables.like_other | table managed | CREATE TABLE LIKE
create table hive_tables.like_other like hive_tables.ext;
--- hive_tables.like_file | table external | CREATE TABLE LIKE FILE
create external table hive_tables.like_file like file orc '{warehouse}/hive_tables_managed.db/as_select/000000_0' stored as orc;
--- hive_tables.bucketed | table bucketed | clustered and sorted
create external table hive_tables.bucketed (id int, name string) clustered by (id) sorted by (name desc, id asc) into 4 buckets stored as orc;
insert into hive_tables.bucketed values (1,'a'),(2,'b'),(3,'c');
--- hive_tables.skewed | table skewed | list bucketing
create external table hive_tables.skewed (id int, name string) skewed by (id, name) on ((1,'a'),(2,'b')) stored as directories stored as orc;
--- hive_tables.skewed_one | table skewed | one column, without directories
create external table hive_tables.skewed_one (id int, name string) skewed by (id) on (1, 5, 6);
--- hive_tables.skewed_rows | table skewed | list bucketing with rows, ORC
create external table hive_tables.skewed_rows (id int, name string) skewed by (id) on (1, 2) stored as directories stored as orc;
insert into hive_tables.skewed_rows values (1,'a'),(2,'b'),(3,'c');
--- hive_tables.skewed_parts | table skewed | list bucketing with rows, Parquet with partitions
create external table hive_tables.skewed_parts (id int, name string) partitioned by (p string) skewed by (id) on (1, 2) stored as directories stored as parquet;
insert into hive_tables.skewed_parts partition(p='a') values (1,'a'),(2,'b'),(3,'c');
--- hive_tables.constrained | table constraints | constraints and defaults
create table hive_tables.constrained (id int primary key disable novalidate, n string default 'x', m int not null enforced, c decimal(5,2) check (c > 0) enforced, constraint u unique(n) disable novalidate);
--- hive_tables.referring | table constraints | a foreign key
create table hive_tables.referring (id int, foreign key (id) references hive_tables.constrained(id) disable novalidate rely);
--- hive_tables.text_delimited | table text | every clause of ROW FORMAT DELIMITED
create external table hive_tables.text_delimited (id int, a array<string>, m map<string,int>) row format delimited fields terminated by '|' escaped by '\\' collection items terminated by ',' map keys terminated by ':' lines terminated by '\n' null defined as 'NA' stored as textfile;
insert into hive_tables.text_delimited select 1, array('x','y'), map('k',1);
--- hive_tables.header | table text | skip.header.line.count
create external table hive_tables.header (id int, name string) row format delimited fields terminated by ',' location '{files}/header' tblproperties('skip.header.line.count'='1','skip.footer.line.count'='0');
--- hive_tables.nulls | table text | serialization.null.format
create external table hive_tables.nulls (id int, name string) row format delimited fields terminated by ',' location '{files}/nulls' tblproperties('serialization.null.format'='NA');
--- hive_tables.subdirectories | table text | files in subdirectories
create external table hive_tables.subdirectories (id int, name string) row format delimited fields terminated by ',' location '{files}/nested';
--- hive_tables.encoded | table text | an encoding
create external table hive_tables.encoded (id int, name string) row format serde 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe' with serdeproperties('serialization.encoding'='ISO-8859-1','field.delim'=',') location '{files}/latin1';
--- hive_tables.text_values | table text | texts that Hive 4 and Spark read differently
create external table hive_tables.text_values (id int, t timestamp, d date, n decimal(5,2)) row format delimited fields terminated by ',' location '{files}/values';
--- hive_tables.csv | table serde | OpenCSVSerde
create external table hive_tables.csv (id int, name string) row format serde 'org.apache.hadoop.hive.serde2.OpenCSVSerde' with serdeproperties('separatorChar'=',','quoteChar'='"','escapeChar'='\\') location '{files}/csv';
--- hive_tables.csv_numbers | table serde | OpenCSVSerde with columns that the row declares as INT
create external table hive_tables.csv_numbers (x int, y int, n string) row format serde 'org.apache.hadoop.hive.serde2.OpenCSVSerde' location '{files}/numbers';
--- hive_tables.json_file | table format | STORED AS JSONFILE
create external table hive_tables.json_file (id int, name string, s struct<a:int>) stored as jsonfile location '{files}/json';
--- hive_tables.json_serde | table serde | JsonSerDe
create external table hive_tables.json_serde (id int, name string) row format serde 'org.apache.hadoop.hive.serde2.JsonSerDe' location '{files}/json';
--- hive_tables.regex | table serde | RegexSerDe
create external table hive_tables.regex (a string, b string) row format serde 'org.apache.hadoop.hive.serde2.RegexSerDe' with serdeproperties('input.regex'='(\\S+) (\\S+)') stored as textfile location '{files}/regex';
--- hive_tables.multi_delimited | table serde | MultiDelimitSerDe
create external table hive_tables.multi_delimited (a int, b string) row format serde 'org.apache.hadoop.hive.serde2.MultiDelimitSerDe' with serdeproperties('field.delim'='||') location '{files}/multi';
--- hive_tables.lazy_binary | table serde | LazyBinarySerDe
create external table hive_tables.lazy_binary (a int, b string) row format serde 'org.apache.hadoop.hive.serde2.lazybinary.LazyBinarySerDe' stored as sequencefile;
insert into hive_tables.lazy_binary values (1,'a');
--- hive_tables.columnar | table serde | ColumnarSerDe
create external table hive_tables.columnar (a int, b string) row format serde 'org.apache.hadoop.hive.serde2.columnar.ColumnarSerDe' stored as rcfile;
insert into hive_tables.columnar values (1,'a');
--- hive_tables.sequence | table format | STORED AS SEQUENCEFILE
create external table hive_tables.sequence (a int, b string) stored as sequencefile;
insert into hive_tables.sequence values (1,'a');
--- hive_tables.rc | table format | STORED AS RCFILE
create external table hive_tables.rc (a int, b string) stored as rcfile;
insert into hive_tables.rc values (1,'a');
--- hive_tables.orc | table format | STORED AS ORC
create external table hive_tables.orc (a int, b string) stored as orc tblproperties('orc.compress'='ZSTD');
insert into hive_tables.orc values (1,'a');
--- hive_tables.orc_other_names | table format | ORC files under other names of columns
create external table hive_tables.orc_other_names (x int, y string) stored as orc location '{warehouse}/hive_tables.db/orc';
--- hive_tables.parquet | table format | STORED AS PARQUET
create external table hive_tables.parquet (a int, b string) stored as parquet;
insert into hive_tables.parquet values (1,'a');
--- hive_tables.avro | table format | STORED AS AVRO
create external table hive_tables.avro (a int, b string) stored as avro;
insert into hive_tables.avro values (1,'a');
--- hive_tables.avro_url | table avro schema | the schema is in a file
create external table hive_tables.avro_url row format serde 'org.apache.hadoop.hive.serde2.avro.AvroSerDe' stored as inputformat 'org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat' outputformat 'org.apache.hadoop.hive.ql.io.avro.AvroContainerOutputFormat' tblproperties('avro.schema.url'='{files}/schema.avsc');
insert into hive_tables.avro_url values (1,'a');
--- hive_tables.avro_literal | table avro schema | the schema is in a property
create external table hive_tables.avro_literal stored as avro tblproperties('avro.schema.literal'='{"type":"record","name":"r","fields":[{"name":"a","type":"int"},{"name":"b","type":["null","string"]}]}');
--- hive_tables.avro_url_gone | table avro schema | the file of the schema is gone
create external table hive_tables.avro_url_gone stored as avro tblproperties('avro.schema.url'='{files}/gone.avsc');
--- hive_tables.formats_by_class | table format | classes of Hadoop
create external table hive_tables.formats_by_class (l string) stored as inputformat 'org.apache.hadoop.mapred.TextInputFormat' outputformat 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat';
--- hive_tables.driver_classes | table format | INPUTDRIVER and OUTPUTDRIVER
create external table hive_tables.driver_classes (l string) stored as inputformat 'org.apache.hadoop.mapred.TextInputFormat' outputformat 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat' inputdriver 'x' outputdriver 'y';
--- hive_tables.handler_default | table storage handler | a handler in hive-exec
create external table hive_tables.handler_default (a int) stored by 'org.apache.hadoop.hive.ql.metadata.DefaultStorageHandler' with serdeproperties('x'='y');
--- hive_tables.handler_syslog | table storage handler | a handler in hive-exec
create external table hive_tables.handler_syslog (facility string, severity string, version string, ts timestamp, hostname string, app_name string, proc_id string, msg_id string, structured_data map<string,string>, msg binary, unmatched binary) partitioned by (dt date, ns string, app string) stored by 'org.apache.hadoop.hive.ql.log.syslog.SyslogStorageHandler' location '{files}/syslog';
--- hive_tables.handler_iceberg | table storage handler | STORED BY ICEBERG
create external table hive_tables.handler_iceberg (a int, b string) stored by iceberg;
insert into hive_tables.handler_iceberg values (1,'a');
--- hive_tables.handler_iceberg_parts | table storage handler | Iceberg's partition transforms in Hive
create external table hive_tables.handler_iceberg_parts (a int, b string, t timestamp) partitioned by spec (bucket(4, a), day(t)) stored by iceberg stored as orc tblproperties('format-version'='2');
--- hive_tables.handler_jdbc | table storage handler | JdbcStorageHandler
create external table hive_tables.handler_jdbc (a int) stored by 'org.apache.hive.storage.jdbc.JdbcStorageHandler' tblproperties('hive.sql.database.type'='POSTGRES','hive.sql.jdbc.driver'='org.postgresql.Driver','hive.sql.jdbc.url'='jdbc:postgresql://127.0.0.1:1/x','hive.sql.dbcp.username'='u','hive.sql.dbcp.password'='p','hive.sql.table'='t');
--- hive_tables.handler_kafka | table storage handler | KafkaStorageHandler
create external table hive_tables.handler_kafka (a int) stored by 'org.apache.hadoop.hive.kafka.KafkaStorageHandler' tblproperties('kafka.topic'='t','kafka.bootstrap.servers'='127.0.0.1:1');
--- hive_tables.handler_hbase | table storage handler | HBaseStorageHandler
create external table hive_tables.handler_hbase (k string, v string) stored by 'org.apache.hadoop.hive.hbase.HBaseStorageHandler' with serdeproperties('hbase.columns.mapping'=':key,f:v') tblproperties('hbase.table.name'='t');
--- hive_tables.like_hbase | table storage handler | a row like that of HBaseStorageHandler, by ALTER TABLE
create external table hive_tables.like_hbase (k string, v string);
alter table hive_tables.like_hbase set tblproperties('storage_handler'='org.apache.hadoop.hive.hbase.HBaseStorageHandler','hbase.table.name'='t');
--- hive_tables.like_jdbc | table storage handler | a row like that of JdbcStorageHandler, by ALTER TABLE
create external table hive_tables.like_jdbc (k string, v string);
alter table hive_tables.like_jdbc set tblproperties('storage_handler'='org.apache.hive.storage.jdbc.JdbcStorageHandler','hive.sql.table'='t');
--- hive_tables.like_iceberg | table storage handler | a row like that of HiveIcebergStorageHandler without a metadata file
create external table hive_tables.like_iceberg (k string, v string);
alter table hive_tables.like_iceberg set tblproperties('storage_handler'='org.apache.iceberg.mr.hive.HiveIcebergStorageHandler','table_type'='ICEBERG');
--- hive_tables.all_types | table types | every primitive type
create external table hive_tables.all_types (ti tinyint, si smallint, i int, bi bigint, f float, de double, dp double precision, dc decimal(38,18), dn decimal, s string, v varchar(65535), c char(255), bo boolean, b binary, dt date, ts timestamp) stored as orc;
insert into hive_tables.all_types select 1Y, 2S, 3, 4L, cast(0.5 as float), 1.5D, 2.5D, 1.25, 7, 'ü☃', 'v', 'c', true, cast('x' as binary), date'1500-03-01', timestamp'2024-03-10 02:30:00.123456789';
--- hive_tables.zoned | table types | TIMESTAMP WITH LOCAL TIME ZONE
create external table hive_tables.zoned (t timestamp with local time zone, u timestamplocaltz) stored as orc;
--- hive_tables.intervals | table types | interval columns
create external table hive_tables.intervals (y interval year to month, d interval day to second) stored as textfile;
--- hive_tables.void_column | table types | VOID from a query
create external table hive_tables.void_column stored as textfile as select null as n, 1 as i;
--- hive_tables.void_managed | table types | VOID from a query
create table hive_tables.void_managed as select null as n, 1 as i;
--- hive_tables.unions | table types | UNIONTYPE
create external table hive_tables.unions (id int, s struct<a:int,b:array<struct<c:string>>>, m map<string,array<int>>, u uniontype<int,string,struct<x:int>>) stored as orc;
--- hive_tables.deep | table types | deep nesting
create external table hive_tables.deep (d array<map<string,struct<a:array<array<map<int,struct<b:struct<c:struct<d:struct<e:struct<f:array<decimal(10,2)>>>>>>>>>,`odd name`:map<date,timestamp>>>>) stored as parquet;
--- hive_tables.wide | table types | a struct whose type has more than 4000 characters
create external table hive_tables.wide (s struct<{wide_struct}>) stored as orc;
--- hive_tables.many_columns | table types | 500 columns
create external table hive_tables.many_columns ({many_columns}) stored as textfile;

--- hive_tables.part_types | table partition types | partitioned by every primitive type
create external table hive_tables.part_types (x int) partitioned by (ti tinyint, si smallint, i int, bi bigint, f float, de double, dc decimal(5,2), s string, v varchar(5), c char(5), bo boolean, dt date, ts timestamp) stored as orc;
insert into hive_tables.part_types partition(ti, si, i, bi, f, de, dc, s, v, c, bo, dt, ts) select 0, 1Y, 2S, 3, 4L, cast(0.5 as float), 1.5D, cast(1.2 as decimal(5,2)), 'a/b=c %:', 'v', 'c', true, date'2024-01-01', timestamp'2024-01-01 01:02:03.5';
--- hive_tables.part_binary | table partition types | BINARY
create external table hive_tables.part_binary (x int) partitioned by (b binary);
--- hive_tables.part_zoned | table partition types | TIMESTAMP WITH LOCAL TIME ZONE
create external table hive_tables.part_zoned (x int) partitioned by (t timestamp with local time zone);
--- hive_tables.part_array | table partition types | ARRAY
create external table hive_tables.part_array (x int) partitioned by (a array<int>);
--- hive_tables.part_null | table partitions | the default partition
create external table hive_tables.part_null (id int, d string) partitioned by (p int);
insert into hive_tables.part_null partition(p) select 1, 'x', cast(null as int);
--- hive_tables.part_null_text | table partitions | the default partition of a text, ORC
create external table hive_tables.part_null_text (id int) partitioned by (p string) stored as orc;
insert into hive_tables.part_null_text partition(p) select 1, 'a' union all select 2, cast(null as string);
--- hive_tables.part_null_char | table partitions | the default partition of CHAR, text files
create external table hive_tables.part_null_char (id int) partitioned by (p char(3));
insert into hive_tables.part_null_char partition(p) select 1, cast('a' as char(3)) union all select 2, cast(null as char(3));
--- hive_tables.part_null_boolean | table partitions | the default partition of BOOLEAN, Parquet
create external table hive_tables.part_null_boolean (id int) partitioned by (p boolean) stored as parquet;
insert into hive_tables.part_null_boolean partition(p) select 1, true union all select 2, cast(null as boolean);
--- hive_tables.part_null_date | table partitions | the default partition of DATE, Parquet
create external table hive_tables.part_null_date (id int) partitioned by (p date) stored as parquet;
insert into hive_tables.part_null_date partition(p) select 1, date'2024-01-01' union all select 2, cast(null as date);
--- hive_tables.part_formats | table partitions | partitions of other formats, in other directories
create external table hive_tables.part_formats (id int, v string) partitioned by (p string) stored as textfile;
insert into hive_tables.part_formats partition(p='text') values (1,'a');
alter table hive_tables.part_formats set fileformat parquet;
insert into hive_tables.part_formats partition(p='parquet') values (2,'b');
alter table hive_tables.part_formats set fileformat orc;
insert into hive_tables.part_formats partition(p='orc') values (4,'d');
alter table hive_tables.part_formats add partition (p='elsewhere') location '{files}/elsewhere';
alter table hive_tables.part_formats partition (p='elsewhere') set fileformat textfile;
alter table hive_tables.part_formats partition (p='elsewhere') set serdeproperties('field.delim'=',');
--- hive_tables.part_formats_text | table partitions | Parquet partitions of a text table
create external table hive_tables.part_formats_text (id int, v string) partitioned by (p string) stored as parquet;
insert into hive_tables.part_formats_text partition(p='parquet') values (1,'a');
alter table hive_tables.part_formats_text set fileformat textfile;
insert into hive_tables.part_formats_text partition(p='text') values (2,'b');
--- hive_tables.part_gone | table gone | the directory of one partition is gone
create external table hive_tables.part_gone (id int) partitioned by (p string) stored as orc;
insert into hive_tables.part_gone partition(p='a') values (1);
alter table hive_tables.part_gone add partition (p='b') location '{files}/gone_partition';
--- hive_tables.part_many | table partitions | 300 partitions
create external table hive_tables.part_many (id int) partitioned by (p int, q string) stored as orc;
alter table hive_tables.part_many add {many_partitions_0};
alter table hive_tables.part_many add {many_partitions_1};
alter table hive_tables.part_many add {many_partitions_2};
alter table hive_tables.part_many add {many_partitions_3};
alter table hive_tables.part_many add {many_partitions_4};
alter table hive_tables.part_many add {many_partitions_5};
--- hive_tables.location_gone | table gone | the directory is gone
create external table hive_tables.location_gone (id int) location '{files}/gone_table';
--- hive_tables.location_other | table gone | a file system that this machine lacks
create external table hive_tables.location_other (id int);
alter table hive_tables.location_other set location 'hdfs://127.0.0.1:1/x';
--- hive_tables.location_s3 | table gone | an object store
create external table hive_tables.location_s3 (id int);
alter table hive_tables.location_s3 set location 's3a://bucket/x';
--- hive_tables.renamed | table evolved | a column renamed, ORC
create external table hive_tables.renamed (id int, v int) partitioned by (d string) stored as orc;
insert into hive_tables.renamed partition(d='a') values (1, 10);
alter table hive_tables.renamed change v w int;
insert into hive_tables.renamed partition(d='b') values (2, 20);
--- hive_tables.renamed_parquet | table evolved | a column renamed, Parquet
create external table hive_tables.renamed_parquet (id int, v int) stored as parquet;
insert into hive_tables.renamed_parquet values (1, 10);
alter table hive_tables.renamed_parquet change v w int;
insert into hive_tables.renamed_parquet values (2, 20);
--- hive_tables.widened | table evolved | types widened
create external table hive_tables.widened (a int, b float, c string, d decimal(5,2)) partitioned by (p string) stored as parquet;
insert into hive_tables.widened partition(p='a') values (1, 1.5, 'x', 1.25);
alter table hive_tables.widened change a a bigint;
alter table hive_tables.widened change b b double;
alter table hive_tables.widened change d d decimal(10,2);
--- hive_tables.retyped | table evolved | an incompatible type in later partitions
create external table hive_tables.retyped (id int, v int) partitioned by (d string);
insert into hive_tables.retyped partition(d='a') values (1, 300);
alter table hive_tables.retyped change v v string;
insert into hive_tables.retyped partition(d='b') values (2, 'x');
--- hive_tables.retyped_parquet | table evolved | a column that became a text, Parquet
create external table hive_tables.retyped_parquet (id int, v int) stored as parquet;
insert into hive_tables.retyped_parquet values (1, 300);
alter table hive_tables.retyped_parquet change v v string;
--- hive_tables.reordered | table evolved | columns reordered
create external table hive_tables.reordered (a string, b string, c string) stored as textfile;
insert into hive_tables.reordered values ('1', 'x', '2');
alter table hive_tables.reordered change c c string first;
alter table hive_tables.reordered change b b string after a;
--- hive_tables.replaced | table evolved | columns dropped by REPLACE COLUMNS
create external table hive_tables.replaced (a int, b string, c int) stored as textfile;
insert into hive_tables.replaced values (1, 'x', 2);
alter table hive_tables.replaced replace columns (a int, b string);
--- hive_tables.added | table evolved | columns added, cascade
create external table hive_tables.added (a int) partitioned by (p string) stored as orc;
insert into hive_tables.added partition(p='a') values (1);
alter table hive_tables.added add columns (b string comment 'added', c struct<x:int>) cascade;
insert into hive_tables.added partition(p='b') values (2, 'y', named_struct('x', 1));
--- hive_tables.moved | table evolved | renamed and moved
create external table hive_tables.moving (a int) stored as orc;
alter table hive_tables.moving rename to hive_tables.moved;
--- hive_tables.owned | table owner | another owner
create external table hive_tables.owned (a int) stored as orc;
alter table hive_tables.owned set owner user bob;
--- hive_tables.owned_by_role | table owner | a role is its owner
create external table hive_tables.owned_by_role (a int) stored as orc;
alter table hive_tables.owned_by_role set owner role analysts;
--- hive_tables.retained | table properties | parameters and protections of old clients
create external table hive_tables.retained (a int comment '☃ it''s "quoted"; -- not a comment') comment 'ü\n"x"' stored as orc tblproperties('discover.partitions'='true','bucketing_version'='1','a key with blanks'='','PROTECT_MODE'='OFFLINE','comment'='overwritten','immutable'='true','auto.purge'='true');
--- hive_tables.delta | table foreign format | rows like Delta's: a symlink manifest
create external table hive_tables.delta (id int) partitioned by (p string) row format serde 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe' stored as inputformat 'org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat' outputformat 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat' location '{files}/delta/_symlink_format_manifest';
--- hive_tables.delta_manifest | table foreign format | a manifest of Delta with a file
create external table hive_tables.delta_manifest (a int, b string) row format serde 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe' stored as inputformat 'org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat' outputformat 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat' location '{files}/manifest';
--- hive_tables.delta_spark | table foreign format | a row like that of Delta in Spark's catalog
create external table hive_tables.delta_spark (col array<string>) row format serde 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe' with serdeproperties('path'='{files}/delta_spark') stored as sequencefile location '{files}/delta_spark' tblproperties('spark.sql.sources.provider'='delta','spark.sql.partitionProvider'='catalog','spark.sql.create.version'='3.5.0','spark.sql.sources.schema.numParts'='1','spark.sql.sources.schema.part.0'='{"type":"struct","fields":[{"name":"id","type":"integer","nullable":true,"metadata":{}}]}');
--- hive_tables.hudi | table foreign format | classes of Hudi, which are not here
create external table hive_tables.hudi (id int) row format serde 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe' stored as inputformat 'org.apache.hudi.hadoop.HoodieParquetInputFormat' outputformat 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat' location '{files}/hudi' tblproperties('last_commit_time_sync'='20240101','spark.sql.sources.provider'='hudi');
--- hive_tables.hudi_later | table foreign format | classes of Hudi, set afterwards
create external table hive_tables.hudi_later (id int) stored as parquet tblproperties('last_commit_time_sync'='20240101','spark.sql.sources.provider'='hudi','spark.sql.sources.schema.numParts'='1','spark.sql.sources.schema.part.0'='{"type":"struct","fields":[{"name":"id","type":"integer","nullable":true,"metadata":{}}]}');

--- hive_acid.full_acid | table acid | full ACID, changed
create table hive_acid.full_acid (id int, name string) stored as orc tblproperties('transactional'='true');
insert into hive_acid.full_acid values (1,'a'),(2,'b'),(3,'c');
update hive_acid.full_acid set name='z' where id=2;
delete from hive_acid.full_acid where id=3;
--- hive_acid.bucketed | table acid | full ACID, bucketed and partitioned
create table hive_acid.bucketed (id int, name string) partitioned by (p string) clustered by (id) into 2 buckets stored as orc tblproperties('transactional'='true');
insert into hive_acid.bucketed partition(p='a') values (1,'a'),(2,'b');
--- hive_acid.insert_only | table insert-only | text
create table hive_acid.insert_only (id int) tblproperties('transactional'='true','transactional_properties'='insert_only');
insert into hive_acid.insert_only values (1),(2);
insert overwrite table hive_acid.insert_only select 7;
--- hive_acid.insert_only_orc | table insert-only | ORC
create table hive_acid.insert_only_orc (id int) stored as orc tblproperties('transactional'='true','transactional_properties'='insert_only');
insert into hive_acid.insert_only_orc values (1);
--- hive_acid.insert_only_parquet | table insert-only | Parquet
create table hive_acid.insert_only_parquet (id int) stored as parquet tblproperties('transactional'='true','transactional_properties'='insert_only');
--- hive_acid.later | table acid | became transactional later
create table hive_acid.later (id int, name string) stored as orc tblproperties('transactional'='false');
insert into hive_acid.later values (1, 'a');
alter table hive_acid.later set tblproperties('transactional'='true');
insert into hive_acid.later values (2, 'b');
--- hive_acid.external_acid | table acid | refused: external tables are not transactional
create external table hive_acid.external_acid (id int) stored as orc tblproperties('transactional'='true');
--- hive_acid.text_acid | table acid | refused: full ACID needs ORC
create table hive_acid.text_acid (id int) stored as textfile tblproperties('transactional'='true','transactional_properties'='default');

--- plus_one | macro | a temporary macro leaves no row
create temporary macro plus_one(x int) x + 1;
--- hive_tables.f_class | function | a permanent function
create function hive_tables.f_class as 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper';
--- hive_tables.f_jar | function | its JAR is gone
create function hive_tables.f_jar as 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFInitCap' using jar '{files}/gone.jar';
--- hive_tables.f_real_jar | function | from a JAR
create function hive_tables.f_real_jar as 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFLower' using jar '{files}/empty.jar';

--- hive_views.plain | view | one source
create view hive_views.plain as select * from hive_tables.managed;
--- hive_views.or_replaced | view | CREATE OR REPLACE VIEW
create view hive_views.or_replaced as select 1 as one;
create or replace view hive_views.or_replaced as select id, name from hive_tables.ext;
--- hive_views.altered | view | ALTER VIEW AS
create view hive_views.altered as select 1 as one;
alter view hive_views.altered as select id as two from hive_tables.ext;
--- hive_views.renamed | view | ALTER VIEW RENAME
create view hive_views.before_rename as select id from hive_tables.ext;
alter view hive_views.before_rename rename to hive_views.renamed;
--- hive_views.partitioned | view partitioned | with a partition
create view hive_views.partitioned partitioned on (p) as select id, name, p from hive_tables.ext;
alter view hive_views.partitioned add partition (p='a');
--- hive_views.with_columns | view columns | column list, comments, properties
create view hive_views.with_columns (a comment 'first col', b comment 'ü ☃ it''s') comment 'view c' tblproperties('k'='v','a key with blanks'='x') as select id, name from hive_tables.ext;
--- hive_views.over_views | view over views | a join of views
create view hive_views.over_views as select w.a, p.name, p.p from hive_views.with_columns w join hive_views.partitioned p on w.a=p.id;
--- hive_views.over_over | view over views | three levels
create view hive_views.over_over as select a, count(*) as c from hive_views.over_views group by a;
--- hive_views.cte | view | a CTE
create view hive_views.cte as with q as (select id from hive_tables.ext), r as (select id from q where id > 1) select q.id from q join r on q.id = r.id;
--- hive_views.windowed | view | a window function
create view hive_views.windowed as select id, row_number() over (partition by name order by d) r, sum(id) over w as s from hive_tables.ext window w as (order by id rows between unbounded preceding and current row);
--- hive_views.lateral_view | view lateral | LATERAL VIEW
create view hive_views.lateral_view as select id, c from hive_tables.ext lateral view explode(split(name, 'x')) t as c;
--- hive_views.lateral_outer | view lateral | LATERAL VIEW OUTER posexplode
create view hive_views.lateral_outer as select id, pos, c from hive_tables.ext lateral view outer posexplode(split(name, 'x')) t as pos, c;
--- hive_views.lateral_stack | view lateral | stack and inline
create view hive_views.lateral_stack as select id, k, v, a from hive_tables.ext lateral view stack(2, 'i', cast(id as string), 'n', name) t as k, v lateral view inline(array(named_struct('a', 1))) u as a;
--- hive_views.transformed | view transform | TRANSFORM USING
create view hive_views.transformed as select transform(id) using 'cat' as (x string) from hive_tables.ext;
--- hive_views.map_reduce | view transform | MAP and REDUCE
create view hive_views.map_reduce as select * from (from (from hive_tables.ext map id, name using 'cat' as k, v cluster by k) m reduce m.k, m.v using 'cat' as a, b) r;
--- hive_views.virtual | view virtual columns | INPUT__FILE__NAME
create view hive_views.virtual as select INPUT__FILE__NAME f, BLOCK__OFFSET__INSIDE__FILE b, id from hive_tables.ext;
--- hive_views.row_ids | view virtual columns | ROW__ID
create view hive_views.row_ids as select ROW__ID r, id from hive_acid.full_acid;
--- hive_views.group_ids | view | GROUPING__ID
create view hive_views.group_ids as select name, count(distinct id) c, grouping__id g from hive_tables.ext group by name with rollup;
--- hive_views.grouping_sets | view | GROUPING SETS
create view hive_views.grouping_sets as select p, name, count(*) c, grouping(p) g from hive_tables.ext group by p, name grouping sets ((p), (p, name), ());
--- hive_views.cubed | view | WITH CUBE
create view hive_views.cubed as select p, name, max(id) m from hive_tables.ext group by p, name with cube;
--- hive_views.sampled | view sample | TABLESAMPLE rows
create view hive_views.sampled as select * from hive_tables.ext tablesample(10 rows);
--- hive_views.sampled_percent | view sample | TABLESAMPLE percent
create view hive_views.sampled_percent as select * from hive_tables.ext tablesample(50 percent) s;
--- hive_views.sampled_bucket | view sample | TABLESAMPLE bucket
create view hive_views.sampled_bucket as select * from hive_tables.bucketed tablesample(bucket 1 out of 2 on id) s;
--- hive_views.ordered | view | ORDER BY and LIMIT
create view hive_views.ordered as select id from hive_tables.ext order by id desc nulls last limit 1, 2;
--- hive_views.sorted | view | DISTRIBUTE BY and SORT BY
create view hive_views.sorted as select id from hive_tables.ext distribute by id sort by id;
--- hive_views.clustered | view | CLUSTER BY
create view hive_views.clustered as select id from hive_tables.ext cluster by id;
--- hive_views.subqueries | view | EXISTS and NOT IN
create view hive_views.subqueries as select id from hive_tables.ext e where exists (select 1 from hive_tables.ext x where x.id=e.id) and id not in (select id from hive_tables.ext where id>5);
--- hive_views.scalar_subquery | view | a scalar subquery
create view hive_views.scalar_subquery as select id, (select max(id) from hive_tables.ext) m from hive_tables.ext;
--- hive_views.set_operations | view | INTERSECT and EXCEPT
create view hive_views.set_operations as select id from hive_tables.ext intersect select id from hive_tables.ext except select 3;
--- hive_views.union_types | view | UNION ALL of other types
create view hive_views.union_types as select id, 1.5 v from hive_tables.ext union all select id, 2 from hive_tables.ext;
--- hive_views.case_types | view | CASE of other types
create view hive_views.case_types as select if(id>1,'y',null) a, case name when 'x' then 1 else 2.5 end b, nvl(name,0) c from hive_tables.ext;
--- hive_views.joins | view | every join
create view hive_views.joins as select a.id, b.name, c.d from hive_tables.ext a left semi join hive_tables.managed s on a.id = s.id left outer join hive_tables.ext b on a.id = b.id full outer join hive_tables.ext c on c.id = b.id cross join hive_tables.managed m;
--- hive_views.joins_plain | view | inner, left, right and full joins
create view hive_views.joins_plain as select a.id, b.name n, c.d from hive_tables.ext a left outer join hive_tables.ext b on a.id = b.id right outer join hive_tables.managed m on m.id = a.id full outer join hive_tables.ext c on c.id = b.id;
--- hive_views.using_join | view | JOIN USING
create view hive_views.using_join as select id, a.name from hive_tables.ext a join hive_tables.managed b using (id);
--- hive_views.values_only | view | without a table
create view hive_views.values_only as select 1 as a, 'x' as b, null as n;
--- hive_views.from_values | view | VALUES as a source
create view hive_views.from_values as select * from (values (1, 'a'), (2, 'b')) as t;
--- hive_views.inline_table | view | TABLE(VALUES)
create view hive_views.inline_table as select * from table(values (1, 'a'), (2, 'b')) as t(x, y);
--- hive_views.ptf | view ptf | a partitioned table function
create view hive_views.ptf as select id, name from noop(on hive_tables.ext partition by p order by id);
--- hive_views.quoted | view names | quoted names of columns
create view hive_views.quoted as select id as `a b`, name as `select`, d as `ü☃` from hive_tables.ext;
--- hive_views.quoted_escape | view names | a backtick in a name
create view hive_views.quoted_escape as select id as `a``b` from hive_tables.ext;
--- hive_views.quoted_dot | view names | a dot and a colon in names
create view hive_views.quoted_dot as select id as `a.b`, name as `c:d,e` from hive_tables.ext;
--- hive_views.literals | view | literals of every type
create view hive_views.literals as select 1Y ti, 2S si, 3L bi, 1.5BD bd, 1e3 e, 'it\'s' s, "dq" dq, date'2024-01-01' d, timestamp'2024-01-01 00:00:00' ts, interval '1' month m, true t;
--- hive_views.interval_math | view | intervals, current_date, current_user
create view hive_views.interval_math as select d + interval '1' month as x, current_date c, current_user() u, id from hive_tables.ext;
--- hive_views.nested_field | view | a field of an array of structs; the table has a uniontype
create view hive_views.nested_field as select s.b.c, m['k'][0] as first from hive_tables.unions;
--- hive_views.union_column | view | a uniontype
create view hive_views.union_column as select u from hive_tables.unions;
--- hive_views.zoned | view | TIMESTAMP WITH LOCAL TIME ZONE
create view hive_views.zoned as select * from hive_tables.zoned;
--- hive_views.all_types | view | every type
create view hive_views.all_types as select * from hive_tables.all_types;
--- hive_views.deep | view | deep nesting
create view hive_views.deep as select * from hive_tables.deep;
--- hive_views.char_types | view | char and varchar
create view hive_views.char_types as select cast(id as char(3)) c, cast(name as varchar(2)) v, concat(cast(id as char(3)), '|') k from hive_tables.ext;
--- hive_views.acid | view | over a full ACID table
create view hive_views.acid as select id, name from hive_acid.full_acid where id < 3;
--- hive_views.insert_only | view | over an insert-only table
create view hive_views.insert_only as select * from hive_acid.insert_only;
--- hive_views.over_handler | view | over a storage handler
create view hive_views.over_handler as select a from hive_tables.handler_default;
--- hive_views.over_evolved | view | over a table with renamed columns
create view hive_views.over_evolved as select id, w from hive_tables.renamed;
--- hive_views.over_text | view | over a table with a header
create view hive_views.over_text as select * from hive_tables.header;
--- hive_views.over_avro | view | over a table with a schema URL
create view hive_views.over_avro as select * from hive_tables.avro_url;
--- hive_views.on_bucketed | view over tables | over bucketed
create view hive_views.on_bucketed as select * from hive_tables.bucketed;
--- hive_views.on_skewed | view over tables | over skewed
create view hive_views.on_skewed as select * from hive_tables.skewed;
--- hive_views.on_skewed_one | view over tables | over skewed_one
create view hive_views.on_skewed_one as select * from hive_tables.skewed_one;
--- hive_views.on_skewed_rows | view over tables | over skewed_rows
create view hive_views.on_skewed_rows as select * from hive_tables.skewed_rows;
--- hive_views.on_skewed_parts | view over tables | over skewed_parts
create view hive_views.on_skewed_parts as select * from hive_tables.skewed_parts;
--- hive_views.on_constrained | view over tables | over constrained
create view hive_views.on_constrained as select * from hive_tables.constrained;
--- hive_views.on_referring | view over tables | over referring
create view hive_views.on_referring as select * from hive_tables.referring;
--- hive_views.on_text_delimited | view over tables | over text_delimited
create view hive_views.on_text_delimited as select * from hive_tables.text_delimited;
--- hive_views.on_nulls | view over tables | over nulls
create view hive_views.on_nulls as select * from hive_tables.nulls;
--- hive_views.on_subdirectories | view over tables | over subdirectories
create view hive_views.on_subdirectories as select * from hive_tables.subdirectories;
--- hive_views.on_encoded | view over tables | over encoded
create view hive_views.on_encoded as select * from hive_tables.encoded;
--- hive_views.on_text_values | view over tables | over text_values
create view hive_views.on_text_values as select * from hive_tables.text_values;
--- hive_views.on_csv | view over tables | over csv
create view hive_views.on_csv as select * from hive_tables.csv;
--- hive_views.on_csv_numbers | view over tables | over csv_numbers
create view hive_views.on_csv_numbers as select * from hive_tables.csv_numbers;
--- hive_views.on_json_file | view over tables | over json_file
create view hive_views.on_json_file as select * from hive_tables.json_file;
--- hive_views.on_json_serde | view over tables | over json_serde
create view hive_views.on_json_serde as select * from hive_tables.json_serde;
--- hive_views.on_regex | view over tables | over regex
create view hive_views.on_regex as select * from hive_tables.regex;
--- hive_views.on_multi_delimited | view over tables | over multi_delimited
create view hive_views.on_multi_delimited as select * from hive_tables.multi_delimited;
--- hive_views.on_lazy_binary | view over tables | over lazy_binary
create view hive_views.on_lazy_binary as select * from hive_tables.lazy_binary;
--- hive_views.on_columnar | view over tables | over columnar
create view hive_views.on_columnar as select * from hive_tables.columnar;
--- hive_views.on_sequence | view over tables | over sequence
create view hive_views.on_sequence as select * from hive_tables.sequence;
--- hive_views.on_rc | view over tables | over rc
create view hive_views.on_rc as select * from hive_tables.rc;
--- hive_views.on_orc | view over tables | over orc
create view hive_views.on_orc as select * from hive_tables.orc;
--- hive_views.on_orc_other_names | view over tables | over orc_other_names
create view hive_views.on_orc_other_names as select * from hive_tables.orc_other_names;
--- hive_views.on_parquet | view over tables | over parquet
create view hive_views.on_parquet as select * from hive_tables.parquet;
--- hive_views.on_avro | view over tables | over avro
create view hive_views.on_avro as select * from hive_tables.avro;
--- hive_views.on_avro_literal | view over tables | over avro_literal
create view hive_views.on_avro_literal as select * from hive_tables.avro_literal;
--- hive_views.on_avro_url_gone | view over tables | over avro_url_gone
create view hive_views.on_avro_url_gone as select * from hive_tables.avro_url_gone;
--- hive_views.on_formats_by_class | view over tables | over formats_by_class
create view hive_views.on_formats_by_class as select * from hive_tables.formats_by_class;
--- hive_views.on_driver_classes | view over tables | over driver_classes
create view hive_views.on_driver_classes as select * from hive_tables.driver_classes;
--- hive_views.on_handler_syslog | view over tables | over handler_syslog
create view hive_views.on_handler_syslog as select * from hive_tables.handler_syslog;
--- hive_views.on_handler_iceberg | view over tables | over handler_iceberg
create view hive_views.on_handler_iceberg as select * from hive_tables.handler_iceberg;
--- hive_views.on_like_hbase | view over tables | over like_hbase
create view hive_views.on_like_hbase as select * from hive_tables.like_hbase;
--- hive_views.on_like_jdbc | view over tables | over like_jdbc
create view hive_views.on_like_jdbc as select * from hive_tables.like_jdbc;
--- hive_views.on_like_iceberg | view over tables | over like_iceberg
create view hive_views.on_like_iceberg as select * from hive_tables.like_iceberg;
--- hive_views.on_intervals | view over tables | over intervals
create view hive_views.on_intervals as select * from hive_tables.intervals;
--- hive_views.on_void_column | view over tables | over void_column
create view hive_views.on_void_column as select * from hive_tables.void_column;
--- hive_views.on_wide | view over tables | over wide
create view hive_views.on_wide as select * from hive_tables.wide;
--- hive_views.on_part_types | view over tables | over part_types
create view hive_views.on_part_types as select * from hive_tables.part_types;
--- hive_views.on_part_zoned | view over tables | over part_zoned
create view hive_views.on_part_zoned as select * from hive_tables.part_zoned;
--- hive_views.on_part_null | view over tables | over part_null
create view hive_views.on_part_null as select * from hive_tables.part_null;
--- hive_views.on_part_null_text | view over tables | over part_null_text
create view hive_views.on_part_null_text as select * from hive_tables.part_null_text;
--- hive_views.on_part_null_char | view over tables | over part_null_char
create view hive_views.on_part_null_char as select * from hive_tables.part_null_char;
--- hive_views.on_part_null_boolean | view over tables | over part_null_boolean
create view hive_views.on_part_null_boolean as select * from hive_tables.part_null_boolean;
--- hive_views.on_part_null_date | view over tables | over part_null_date
create view hive_views.on_part_null_date as select * from hive_tables.part_null_date;
--- hive_views.on_part_formats | view over tables | over part_formats
create view hive_views.on_part_formats as select * from hive_tables.part_formats;
--- hive_views.on_part_formats_text | view over tables | over part_formats_text
create view hive_views.on_part_formats_text as select * from hive_tables.part_formats_text;
--- hive_views.on_part_gone | view over tables | over part_gone
create view hive_views.on_part_gone as select * from hive_tables.part_gone;
--- hive_views.on_part_many | view over tables | over part_many
create view hive_views.on_part_many as select * from hive_tables.part_many;
--- hive_views.on_location_gone | view over tables | over location_gone
create view hive_views.on_location_gone as select * from hive_tables.location_gone;
--- hive_views.on_location_other | view over tables | over location_other
create view hive_views.on_location_other as select * from hive_tables.location_other;
--- hive_views.on_location_s3 | view over tables | over location_s3
create view hive_views.on_location_s3 as select * from hive_tables.location_s3;
--- hive_views.on_renamed_parquet | view over tables | over renamed_parquet
create view hive_views.on_renamed_parquet as select * from hive_tables.renamed_parquet;
--- hive_views.on_widened | view over tables | over widened
create view hive_views.on_widened as select * from hive_tables.widened;
--- hive_views.on_retyped | view over tables | over retyped
create view hive_views.on_retyped as select * from hive_tables.retyped;
--- hive_views.on_retyped_parquet | view over tables | over retyped_parquet
create view hive_views.on_retyped_parquet as select * from hive_tables.retyped_parquet;
--- hive_views.on_reordered | view over tables | over reordered
create view hive_views.on_reordered as select * from hive_tables.reordered;
--- hive_views.on_replaced | view over tables | over replaced
create view hive_views.on_replaced as select * from hive_tables.replaced;
--- hive_views.on_added | view over tables | over added
create view hive_views.on_added as select * from hive_tables.added;
--- hive_views.on_moved | view over tables | over moved
create view hive_views.on_moved as select * from hive_tables.moved;
--- hive_views.on_purged | view over tables | over purged
create view hive_views.on_purged as select * from hive_tables.purged;
--- hive_views.on_as_select | view over tables | over as_select
create view hive_views.on_as_select as select * from hive_tables.as_select;
--- hive_views.on_like_other | view over tables | over like_other
create view hive_views.on_like_other as select * from hive_tables.like_other;
--- hive_views.on_retained | view over tables | over retained
create view hive_views.on_retained as select * from hive_tables.retained;
--- hive_views.on_delta | view over tables | over delta
create view hive_views.on_delta as select * from hive_tables.delta;
--- hive_views.on_delta_manifest | view over tables | over delta_manifest
create view hive_views.on_delta_manifest as select * from hive_tables.delta_manifest;
--- hive_views.on_delta_spark | view over tables | over delta_spark
create view hive_views.on_delta_spark as select * from hive_tables.delta_spark;
--- hive_views.on_hudi_later | view over tables | over hudi_later
create view hive_views.on_hudi_later as select * from hive_tables.hudi_later;
--- hive_views.on_later | view over tables | over a table that became transactional later
create view hive_views.on_later as select * from hive_acid.later;
--- hive_views.csv_casts | view over tables | casts that tables of OpenCSVSerde need
create view hive_views.csv_casts as select n, cast(x as int) x from hive_tables.csv_numbers where cast(x as int) < cast(y as int);
--- hive_views.csv_text | view over tables | a cast of a number that is a text in the file
create view hive_views.csv_text as select cast(max(cast(x as int)) as string) m from hive_tables.csv_numbers;
--- hive_views.over_gone | view gone | its table is dropped
create external table hive_tables.dropped_later (id int, name string);
create view hive_views.over_gone as select id, name from hive_tables.dropped_later;
drop table hive_tables.dropped_later;
--- hive_views.column_gone | view gone | a column of its table is gone
create external table hive_tables.loses_column (a int, b string);
create view hive_views.column_gone as select a, b from hive_tables.loses_column;
alter table hive_tables.loses_column replace columns (a int);
--- hive_views.database_gone | view gone | the database of its table is dropped
create database dropped_database;
create external table dropped_database.t (id int);
create view hive_views.database_gone as select id from dropped_database.t;
drop database dropped_database cascade;
--- hive_views.over_broken | view gone | over a view whose table is dropped
create view hive_views.over_broken as select id from hive_views.plain;
create external table hive_tables.dropped_too (id int);
create view hive_views.broken_below as select id from hive_tables.dropped_too;
create or replace view hive_views.over_broken as select id from hive_views.broken_below;
drop table hive_tables.dropped_too;
--- hive_views.cyclic | view gone | refused: it would read itself
create view hive_views.cyclic as select 1 as id;
create view hive_views.cyclic_other as select id from hive_views.cyclic;
alter view hive_views.cyclic as select id from hive_views.cyclic_other;
--- hive_views.unqualified | view | names without a database
create view hive_views.unqualified as select p.id from hive_views.plain p where p.id in (select id from hive_tables.managed);
--- hive_views.function_class | view function | a permanent function of the database
create view hive_views.function_class as select hive_tables.f_class(name) u from hive_tables.ext;
--- hive_views.uses_macro | view function | a temporary macro
create view hive_views.uses_macro as select plus_one(id) p from hive_tables.ext;
--- hive_views.functions | view function | functions of Hive
create view hive_views.functions as select id, from_unixtime(0) fu, date_format(d, 'yyyy') y, concat_ws('-', name, 'x') cw, get_json_object('{"a":1}', '$.a') j, regexp_extract(name, '(x)', 1) r, percentile_approx(id, 0.5) over () pa, sha2(name, 256) sh, str_to_map('a:1') sm from hive_tables.ext;
--- hive_views.xpath | view function | xpath, parse_url and reflect
create view hive_views.xpath as select xpath_int('<a>1</a>', 'a') x, parse_url('http://h/p?q=1', 'HOST') h, reflect('java.lang.Math', 'abs', id) rf from hive_tables.ext;
--- hive_views.hints | view | comments and hints
create view hive_views.hints as select /*+ MAPJOIN(b) */ a.id /* kept? */ from hive_tables.ext a join hive_tables.managed b on a.id = b.id -- trailing
;
--- hive_views.long_text | view | a text of 25,000 characters
create view hive_views.long_text as select id from hive_tables.ext where name in ({long_list});
--- hive_views.many_columns | view | 500 columns
create view hive_views.many_columns as select * from hive_tables.many_columns;
--- hive_views.no_rows_ever | view | a condition that is false
create view hive_views.no_rows_ever as select id from hive_tables.ext where 1 = 0;
--- hive_views.distinct_having | view | DISTINCT, HAVING, QUALIFY
create view hive_views.distinct_having as select distinct name, count(*) c from hive_tables.ext group by name having count(*) > 0;
--- hive_views.qualified | view | QUALIFY
create view hive_views.qualified as select id from hive_tables.ext qualify row_number() over (order by id) = 1;
--- hive_views.owned | view owner | another owner
create view hive_views.owned as select id from hive_tables.ext;
alter view hive_views.owned set owner user bob;
--- hive_views.properties_changed | view | ALTER VIEW SET TBLPROPERTIES
create view hive_views.properties_changed as select id from hive_tables.ext;
alter view hive_views.properties_changed set tblproperties('k'='v','comment'='changed');
alter view hive_views.properties_changed unset tblproperties('k');
--- hive_views.time_travel | view | refused: AS OF needs Iceberg
create view hive_views.time_travel as select * from hive_tables.handler_iceberg for system_version as of 1;

--- hive_views.mv_orc | materialized view | over an ACID table
create materialized view hive_views.mv_orc stored as orc as select name, count(*) c from hive_acid.full_acid group by name;
--- hive_views.mv_options | materialized view | comment, partitions, properties, rewriting disabled
create materialized view hive_views.mv_options disable rewrite comment 'stored' partitioned on (p) stored as parquet tblproperties('k'='v') as select id, name, p from hive_acid.bucketed;
--- hive_views.mv_external | materialized view | over an external table
create materialized view hive_views.mv_external disable rewrite as select id, name from hive_tables.ext;
--- hive_views.mv_over_view | materialized view | over a view
create materialized view hive_views.mv_over_view disable rewrite as select id from hive_views.acid;
--- hive_views.mv_clustered | materialized view | CLUSTERED ON
create materialized view hive_views.mv_clustered disable rewrite clustered on (id) as select id, name from hive_acid.full_acid;
--- hive_views.mv_stale | materialized view | its source changed since
create materialized view hive_views.mv_stale as select id from hive_acid.insert_only_orc;
insert into hive_acid.insert_only_orc values (2);
--- hive_views.mv_rebuilt | materialized view | rebuilt
create materialized view hive_views.mv_rebuilt as select id, name from hive_acid.later;
alter materialized view hive_views.mv_rebuilt rebuild;
--- hive_views.on_insert_only_orc | view over tables | over an insert-only table of ORC files
create view hive_views.on_insert_only_orc as select * from hive_acid.insert_only_orc;
--- hive_views.mv_disabled | materialized view | rewriting disabled later
create materialized view hive_views.mv_disabled as select id from hive_acid.full_acid;
alter materialized view hive_views.mv_disabled disable rewrite;
--- hive_views.over_mv | view | over a materialized view
create view hive_views.over_mv as select name, c from hive_views.mv_orc;
--- hive_views.mv_located | materialized view | with a location
create materialized view hive_views.mv_located disable rewrite stored as orc location '{warehouse}/mv_located' as select id from hive_acid.full_acid;
--- hive_views.sched | scheduled query | a scheduled rebuild leaves no row of a table
create scheduled query sched cron '0 0 * * * ? *' as alter materialized view hive_views.mv_rebuilt rebuild;

--- hive_names.upper | names | Hive folds case
create external table HIVE_NAMES.UPPER_Table (MixedCase int) stored as orc;
--- hive_names.1digit | names | begins with a digit
create external table hive_names.`1digit` (`2nd` int) stored as orc;
--- hive_names._underscore | names | begins with an underscore
create external table hive_names.`_underscore` (`_x` int) stored as orc;
--- hive_names.select | names | a keyword
create external table hive_names.`select` (`from` int) stored as orc;
create view hive_names.`order` as select `from` from hive_names.`select`;
--- hive_names.longest_table | names | 128 characters
create external table hive_names.`{longest}` (`{longest}` int) stored as orc;
--- hive_names.longest_view | names | 256 characters
create view hive_names.`{longest_view}` as select `{longest}` from hive_names.`{longest}`;
--- hive_names.too_long | names | refused: 257 characters
create view hive_names.`{longest_view}x` as select `{longest}` from hive_names.`{longest}`;
--- hive_names.größe | names | refused or not: letters beyond ASCII
create external table hive_names.`größe` (a int) stored as orc;
--- hive_names.日本 | names | refused or not: letters beyond ASCII
create external table hive_names.`日本` (a int) stored as orc;
--- hive_names.with_blank | names | refused or not: a blank
create external table hive_names.`with blank` (a int) stored as orc;
--- hive_names.with_special | names | special characters that Hive allows in quoted names
create external table hive_names.`a-b$c` (a int) stored as orc;
--- hive_names.dollar_view | names | a view with special characters
create view hive_names.`v$(id);x` as select 1 as one;
--- hive_names.columns | names | columns of every alphabet
create external table hive_names.columns (`größe` int, `日本` int, `имя` int, `اسم` int, `😀` int, `a b` int, `a-b` int, `a/b` int, `select` int, `a'b` int, `a"b` int, `{longest_767}` int) stored as orc;
create view hive_names.over_columns as select * from hive_names.columns;
--- hive_names.like_one | names | names that differ by a wildcard
create external table hive_names.a_b (x int) stored as orc;
create external table hive_names.axb (x int) stored as orc;
create view hive_names.wildcard as select a_b.x from hive_names.a_b join hive_names.axb on a_b.x = axb.x;

--- analysts | role | a role and grants
set role admin;
create role analysts;
grant role analysts to user bob;
grant select on table hive_tables.ext to user bob;
grant select on table hive_views.plain to role analysts;
grant all on database hive_views to user alice with grant option;
