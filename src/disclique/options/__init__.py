"""What a person asks for, in options: the same on the command line, in a TOML file and in the app.

Here live the options, how they are read from a file, and how what they ask for is carried out. Nothing here prints,
measures or decides. Importing it is light; what is asked for is imported when it is carried out.
"""
