"""The evaluation of each function, one module for each library of functions."""
