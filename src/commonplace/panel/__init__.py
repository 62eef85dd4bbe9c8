"""The terminal panel: a person looks at the memory, corrects it and follows what agents do."""
