"""Rewrites of templates: one file a kind. Each changes the expression at a place and no other byte, or says why not."""
