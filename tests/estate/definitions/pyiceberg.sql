-- Tables that PyIceberg's Hive catalog creates; Python expressions on `catalog` (`pyiceberg_names.py`).

--- py_tables | database | tables of PyIceberg
catalog.create_namespace('py_tables', {'comment': 'of PyIceberg', 'k': 'v'});
--- py_tables.plain | table iceberg | rows
catalog.create_table('py_tables.plain', schema(IntegerType(), StringType()));
append(catalog, 'py_tables.plain', c1=[1, 2], c2=['a', None]);
--- py_tables.types | table types | every type
catalog.create_table('py_tables.types', schema(BooleanType(), IntegerType(), LongType(), FloatType(), DoubleType(), DecimalType(38, 18), DateType(), TimeType(), TimestampType(), TimestamptzType(), StringType(), UUIDType(), FixedType(16), BinaryType(), ListType(100, IntegerType()), MapType(101, StringType(), 102, LongType()), StructType(NestedField(103, 'a', IntegerType()))));
--- py_tables.partitioned | table iceberg | every transform, a sort order
catalog.create_table('py_tables.partitioned', schema(LongType(), StringType(), DateType()), partition_spec=PartitionSpec(PartitionField(1, 1000, BucketTransform(4), 'b'), PartitionField(2, 1001, TruncateTransform(2), 't'), PartitionField(3, 1002, MonthTransform(), 'm')), sort_order=SortOrder(SortField(2)));
--- py_tables.properties | table iceberg | properties, a location
catalog.create_table('py_tables.properties', schema(IntegerType()), location='{warehouse}/py elsewhere', properties={'comment': 'ü', 'format-version': '1', 'owner': 'dora'});
--- py_tables.evolved | table iceberg | columns renamed and added
catalog.create_table('py_tables.evolved', schema(IntegerType(), StringType()));
catalog.load_table('py_tables.evolved').update_schema().rename_column('c1', 'Renamed').add_column('added', LongType()).commit();
--- py_tables.renamed | table iceberg | renamed
catalog.create_table('py_tables.before', schema(IntegerType()));
catalog.rename_table('py_tables.before', 'py_tables.renamed');
--- py_tables.registered | table iceberg | registered from a metadata file
catalog.register_table('py_tables.registered', catalog.load_table('py_tables.plain').metadata_location);
--- py_tables.over_spark | append | appended to a table of Spark
append(catalog, 'iceberg_tables.v1', id=[9], name=['py']);
