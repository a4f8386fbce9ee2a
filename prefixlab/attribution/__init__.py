"""Causes: where prompts part, which values do it, and what each costs."""
