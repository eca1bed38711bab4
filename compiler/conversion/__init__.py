"""Filters from one dialect to another: alone, and in the manifests that hold them."""
