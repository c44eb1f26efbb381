#!/usr/bin/env python3
"""A data set of any width whose labels follow from its features, as XMC text.

    bench/planted.py --labels 63000000 --points 200000 train.txt

Of the --labels rows --used ones occur, spread evenly over all; label u comes up
with a frequency of about 1/u, and each has --own features that are its own. A
point shows most of those of its one to three labels, and --noise others. So
what there is to learn is the same at every width, and only the number of
wrong answers grows. The same arguments make the same bytes.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import random
import sys

SHOWN = 0.8  # of a label's own features, in a point that has the label
# Points of one to three labels, of ten.
LABELS = (1, 1, 1, 1, 1, 2, 2, 2, 3, 3)


def arguments(words=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--labels", type=int, default=10**6)
    parser.add_argument("--used", type=int, default=20000)
    parser.add_argument("--points", type=int, default=200000)
    parser.add_argument("--features", type=int, default=50000)
    parser.add_argument("--own", type=int, default=8)
    parser.add_argument("--noise", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draw", type=int, default=0,
                        help="other points of the same labels: a test file")
    parser.add_argument("file")
    own = parser.parse_args(words)
    own.used = min(own.used, own.labels)
    return own


def own_features(own):
    """A row of --own features for each used label, of the seed alone."""
    draw = random.Random(own.seed)
    return [[int(draw.random() * own.features) for _ in range(own.own)]
            for _ in range(own.used)]


def point(own, draw, features):
    labels, shown = set(), {}
    for _ in range(LABELS[int(draw.random() * len(LABELS))]):
        used = int(own.used ** draw.random()) - 1
        labels.add(used * own.labels // own.used)
        for feature in features[used]:
            if draw.random() < SHOWN:
                shown[feature] = "%d:1" % feature
    for _ in range(own.noise):
        feature = int(draw.random() * own.features)
        shown.setdefault(feature, "%d:%.3f" % (feature, .2 + draw.random()))
    return "%s %s\n" % (",".join(map(str, sorted(labels))),
                        " ".join(shown[key] for key in sorted(shown)))


def write(own):
    features = own_features(own)
    draw = random.Random(own.seed * 1000003 + 1 + own.draw)
    with open(own.file, "w", encoding="ascii") as file:
        file.write("%d %d %d\n" % (own.points, own.features, own.labels))
        for _ in range(own.points):
            file.write(point(own, draw, features))


if __name__ == "__main__":
    write(arguments())
    sys.exit(0)
