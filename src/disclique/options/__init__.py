"""One table of options: a row says once what an option is, and command line, TOML, app, plan and pages follow.

``table`` is the form of a row; ``files``, ``audits`` and ``attacks`` are the rows. Nothing here prints, measures or
decides, and importing it is light.
"""
