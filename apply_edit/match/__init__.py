"""Find where an edit's old text stands in a file.

``ladder`` has the named search steps, exact first; ``locate`` finds one hunk, ``assign`` chooses
among the places of several, ``near`` describes the near miss of a hunk that is nowhere.
"""
