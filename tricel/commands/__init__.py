"""The commands: one module for each family, each with its `COMMANDS`."""
