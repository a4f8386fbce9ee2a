"""A log's bytes changed where a fix asks for it, and nowhere else."""
