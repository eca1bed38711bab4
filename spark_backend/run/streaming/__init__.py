"""A stream: the same judging and writing as a batch run, once for each micro-batch, each event exactly once.

`sources` say where events come from and `origins` where triggers come from; `sets` gives one state of the triggers a
name that outlives it; `ledger` is what a stream remembers, in its output and its checkpoint; `stream` runs it, and
tells `observers`, of which `metrics` is one.
"""
