"""What can be known of a filter before any event: findings, constraints, sizes, cost, what it reads."""
