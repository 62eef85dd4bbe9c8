"""What a host of agents calls: hooks, the context of a prompt, and a small loop that shows how it fits."""
