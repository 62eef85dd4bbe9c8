"""The command line: a command parses, calls the façade, renders; nothing is imported before its time."""
