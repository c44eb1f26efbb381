"""pieces.py - the pieces of a path, as features: names, words, letters.

SPDX-License-Identifier: Apache-2.0
"""
import functools
import math
import re

WORD = re.compile(r"[a-z]+|[0-9]+")
# Letters in a row: four are enough to be rare, and few enough to be shared.
LETTERS = 4
STEM_MAX = 40


@functools.lru_cache(maxsize=4096)
def pieces_of_folder(folder):
    """Those of the directories alone; neighbours in an index share them."""
    found = set()
    above = ""
    for name in folder.split("/") if folder else ():
        found.add(name + "/")
        found.add(above + name + "/")
        found.update(WORD.findall(name.lower()))
        above = name + "/"
    return found, above


def pieces(path):
    """The set of pieces of `path`, each a string that tells its kind.

    usr/lib/ssl/ca.pem has the directories `ssl/`, their pairs `lib/ssl/`, the
    file `=ca.pem`, the same below its directory `ssl/=ca.pem`, the suffix
    `*.pem`, words `ssl`, `pem`, and runs of letters of the name, `~ca.p`. A
    name without a directory may be that of a directory or of a file.
    """
    folder, _, name = path.strip("/").rpartition("/")
    found, above = pieces_of_folder(folder)
    if not folder:
        found = {name + "/"}
    low = name.lower()
    framed = "^" + low[:STEM_MAX] + "$"
    found = found.union(
        ("=" + name, above + "=" + name), WORD.findall(low),
        ("~" + framed[k:k + LETTERS]
         for k in range(len(framed) - LETTERS + 1)))
    if "." in name[1:]:
        found.add("*" + low[low.rindex("."):])
    return found


class Vocabulary:
    """Numbers and weights of the pieces that training has seen often enough."""

    def __init__(self, names, weights):
        self.number = {name: k for k, name in enumerate(names)}
        self.weight = weights

    @classmethod
    def read(cls, folder):
        with open(folder + "/features.txt", encoding="utf-8",
                  errors="surrogateescape", newline="\n") as file:
            names = file.read().split("\n")[:-1]
        with open(folder + "/weights.txt", encoding="ascii") as file:
            return cls(names, [float(line) for line in file])

    @classmethod
    def count(cls, paths, least, share):
        """Pieces that `least` of the paths have, and at most `share` of them.

        The weight is log(n/df), as for words of a text.
        """
        have = {}
        for path in paths:
            for piece in pieces(path):
                have[piece] = have.get(piece, 0) + 1
        most = share * len(paths)
        names = sorted(name for name, count in have.items()
                       if least <= count <= most and "\n" not in name)
        weights = [round(math.log((1 + len(paths)) / have[name]), 3)
                   for name in names]
        return cls(names, weights)

    def write(self, folder):
        with open(folder + "/features.txt", "w", encoding="utf-8",
                  errors="surrogateescape", newline="\n") as file:
            file.writelines(name + "\n" for name in self.number)
        with open(folder + "/weights.txt", "w", encoding="ascii") as file:
            file.writelines(f"{weight:.3f}\n" for weight in self.weight)

    def line(self, path):
        """The features of `path` in XMC text; their length is 1."""
        known = sorted(self.number[piece] for piece in pieces(path)
                       if piece in self.number)
        length = math.sqrt(sum(self.weight[k] ** 2 for k in known)) or 1.0
        return " ".join(f"{k}:{self.weight[k] / length:.3g}" for k in known)
