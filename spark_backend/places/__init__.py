"""Places: what a text such as `table:NAME` or a path names as a source of events, or as a sink of deliveries."""
