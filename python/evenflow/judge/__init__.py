"""Judgement: claims about studies, the parts of a paper, the effect of its options."""
