"""Vocabularies: rendered segments in, pieces of token ids out."""
