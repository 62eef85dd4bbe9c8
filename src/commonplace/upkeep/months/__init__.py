"""Daily notes of a month made one note: taken apart, what is left out, put together, checked."""
