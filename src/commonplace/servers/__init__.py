"""The doors that other programs use: the Model Context Protocol over standard input and over HTTP."""
