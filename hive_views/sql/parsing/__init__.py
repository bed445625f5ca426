"""Lexers and parsers: SQL texts to tokens, statements and trees."""
