"""From where two maps lie to the probability of every pair.

``pairs`` weighs the pairs that lie together, over all ``parts`` of a map, against strangers (``background``; ``nearby``
counts them over a register); ``law`` does so under the exact law of a mask, ``exchange`` where places were exchanged.
"""
