"""What a native expression may cost: iterations, sizes, copies and lambdas, refused before Spark sees them."""
