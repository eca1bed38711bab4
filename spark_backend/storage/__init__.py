"""Files and folders of a run: what there is to read, and where it may write."""
