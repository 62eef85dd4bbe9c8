"""What can be done to a memory after a look at it: a row an action, the same through every door."""
