"""A Spark job that picks events by a filter. Run it with `spark-submit job.py PATH`."""

import sys

from pyspark.sql import SparkSession
from tricel.spark_backend import where

from tricel import compile_filter

# The pattern has no exact form in Spark SQL: this part of the filter runs in the executors' Python.
wanted = compile_filter(
    'ce.type.endsWith("order.created") && data.total > 400.0 && ce.subject.matches("^([a-z]+/?)+[0-9]+$")'
)

spark = SparkSession.builder.appName("large-orders").getOrCreate()
events = spark.read.schema("id STRING, source STRING, type STRING, subject STRING, data STRING").json(sys.argv[1])
for row in where(events, wanted).select("id", "subject").orderBy("id").collect():
    print(row.id, row.subject)
spark.stop()
