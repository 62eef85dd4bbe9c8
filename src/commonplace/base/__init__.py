"""The lowest floor: files, paths, errors and messages, whatever the files hold."""
