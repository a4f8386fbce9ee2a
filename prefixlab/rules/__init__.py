"""One rule of `lint` a file: its docstring is its documentation, its examples are its tests."""
