"""What people expect of their memory, tried from outside: command line, hook, MCP, HTTP and `Memory` alone."""
