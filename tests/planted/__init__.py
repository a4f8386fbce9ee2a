"""Logs with faults planted at known places, the truth about them by brute force, and the score of a report."""
