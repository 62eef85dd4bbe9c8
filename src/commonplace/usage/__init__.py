"""What a memory is asked, what it finds and what is read of that: recorded there, told to nobody."""
