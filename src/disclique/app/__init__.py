"""A window for people who do not type commands: a server on this machine, looked at in the browser.

Here live the pages, who may ask for them, and where files lie meanwhile. What is asked for goes through
``disclique.options``, as the command line's does, and runs in a process of its own; nothing here measures or decides.
"""
