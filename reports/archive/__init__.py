"""The runs of a farm as Parquet files, which DuckDB and other programs query. docs/archive.md has the schema."""
