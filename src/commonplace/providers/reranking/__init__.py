"""Models that read a question and a text together and say how well the one answers the other."""
