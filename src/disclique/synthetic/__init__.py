"""Synthetic data: the paper's examples, people of Germany drawn from published tables, and the demonstration survey.

Nobody in it is real. Nothing here masks or attacks.
"""
