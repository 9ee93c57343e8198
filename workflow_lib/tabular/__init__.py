"""Text, Excel, Parquet and HDF5 files, read as tables with the location of every cell."""
