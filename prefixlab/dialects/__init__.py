"""One file a template dialect: reads a file into prompt templates (`prompt_templates`)."""
