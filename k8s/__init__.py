"""Triggers on a Kubernetes cluster: their definition, their review at admission, and reading them from the cluster."""
