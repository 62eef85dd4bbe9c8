"""Adapters for hosts of agents: each a page over `Memory` and `agent`, its host imported with it alone.

Every module names one host and needs that host's extra (`commonplace-memory[anthropic]` and so on); importing
it without the host raises MissingExtra, which has the command that installs it.
"""
