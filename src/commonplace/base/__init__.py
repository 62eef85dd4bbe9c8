"""What stands below everything else: files, and nothing that knows what is in them."""
