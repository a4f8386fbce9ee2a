"""What a cache of any size would keep of a log: reuse at every size, its bound, its knee, and where it comes from."""
