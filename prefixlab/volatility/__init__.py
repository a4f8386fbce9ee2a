"""How often a hole's value is another: by what is declared, what values show, what is called, and the name."""
