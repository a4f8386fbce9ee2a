"""Forms of a report."""
