"""Has the word prompt and the clock, and makes no prompt."""

from datetime import datetime


def log(message, messages=()):
    print(f"{datetime.now().isoformat()} {message} ({len(messages)} messages)")


def ask_user(prompt="Name? "):
    return input(prompt)
