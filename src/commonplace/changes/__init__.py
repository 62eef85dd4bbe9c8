"""Generated changes of notes: made whole or not at all, kept with what was there before, taken back."""
