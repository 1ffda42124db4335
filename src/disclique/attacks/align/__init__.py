"""From the target's map to where it lies on the known file (``lay``).

``search`` tries motions, those of settled places (``density``) and of pairs of rare records, and refines each under the
model of ``likelihood``; ``futility`` foretells whether a search can succeed. Where the mask's law is not Gaussian
``polish`` improves the alignment. On a register in pieces it is settled (``settle``) on the candidates of all pieces.
"""
