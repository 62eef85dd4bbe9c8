"""What is examined when something does not work: checks are functions, what they give are findings."""
