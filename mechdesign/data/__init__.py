"""Tables in blocks: CSV, Excel, Parquet, JSON lines, frames, data sets."""
