"""Generated changes of notes: made whole or not at all, and taken back."""
