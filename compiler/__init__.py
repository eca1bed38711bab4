"""The compiler: filters in any dialect become one checked CEL expression. No Spark, no Kubernetes, no files."""
