"""Documents that hold filters: Triggers, their fields and the rules of Knative for them."""
