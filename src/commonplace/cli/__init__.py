"""The command line: a command parses, calls the façade, renders; modules are imported on first use."""
