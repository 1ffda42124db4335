"""From where two maps lie to the probability of every pair.

``pairs`` weighs the pairs that lie together against strangers (``background``); ``law`` does so under the exact law of
a mask, ``exchange`` where places were exchanged.
"""
