"""tricel: event filters in any dialect, as one CEL expression, on Apache Spark."""
