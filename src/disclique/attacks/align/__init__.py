"""From the target's map to where it lies on the known file.

``search`` tries motions, from ``density``, ``land`` and ``hypotheses``, and ``refine`` makes each the best one nearby
under the model of ``likelihood`` (and ``noise`` where the displacement is not known); ``futility`` foretells whether a
search can succeed. Where the mask's law is not Gaussian ``polish`` improves the alignment. Of a register in pieces the
map is laid on a ``pilot`` first and settled on the candidates that ``gather`` brings.
"""
