"""Judgement: claims about studies, what a paper is made of, and what depends on its open choices."""
