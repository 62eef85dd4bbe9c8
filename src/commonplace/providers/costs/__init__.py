"""What calls to models cost: recorded, priced, and kept under caps."""
