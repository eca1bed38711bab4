"""What Spark leaves to a CEL engine: what travels to it, and how a worker reads that."""
