"""Chat templates: requests in, text that knows its origin out."""
