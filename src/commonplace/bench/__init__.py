"""Questions made of notes, and where the search finds their answers: `commonplace eval`."""
