"""What was probably meant by what is wrong."""
