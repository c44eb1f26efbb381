#!/usr/bin/env python3
"""sets.py - development sets of texts, from Debian's own lists.

Usage: bench/sets.py FOLDER [--only NAME,...] [--lists FOLDER]
Writes FOLDER/NAME/train.csv and test.csv, with columns text and labels (which
have semicolons between them), and prints what is in them. A text is in the test
set if its hash says so: equal texts are on one side, and the sets are the same
wherever the lists are. The lists of apt that it needs are fetched to --lists
(default: FOLDER/lists) unless they are there; Contents lists need Debian's
package apt-file.

  folders  description of a package -> folders that it ships files into
  sources  title of a package -> its source package, of 6 packages or more
  pages    manual page -> pages it refers to, its section and its package; what
           the machine has installed
  few      2,000 descriptions -> section, and host of the homepage
  people   title of a package -> who maintains it: half have 4 packages or less
  files    path of a file -> section and package that it is of
Decisions about `auto` rest on these sets, so no result on them is evidence that
`auto` is right elsewhere. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import csv
import glob
import gzip
import hashlib
import os
import re
import subprocess
import sys

TEST_SHARE = 0.2
# Labels of fewer points than this are left out.
LABEL_POINTS_MIN = 10
SOURCE_PACKAGES_MIN = 6
FEW_POINTS = 2000
# A manual of a shell has 60,000 words; the first tell what it is.
PAGE_LETTERS = 4000
FILES = 40000
# Few enough that a training takes some seconds.
ROWS_MAX = 16000


# --- apt -------------------------------------------------------------------

def fetch(lists):
    os.makedirs(os.path.join(lists, "partial"), exist_ok=True)
    subprocess.run(
        ["apt-get", "update", "-qq", "-o",
         "Dir::State::lists=" + os.path.abspath(lists), "-o",
         "Acquire::Languages=en", "-o",
         "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=true"],
        check=True)


def lines_of(lists, pattern):
    """Lines of every list whose name ends so."""
    names = sorted(glob.glob(os.path.join(lists, "*" + pattern)))
    if not names:
        sys.exit("sets.py: no %s in %s (is apt-file installed?)" % (
            pattern, lists))
    for name in names:
        with subprocess.Popen(["/usr/lib/apt/apt-helper", "cat-file", name],
                              stdout=subprocess.PIPE, text=True,
                              errors="replace") as apt:
            yield from (line.rstrip("\n") for line in apt.stdout)


def stanzas(lists, pattern):
    """Each stanza of a list, a dictionary of its fields."""
    fields, key = {}, None
    for line in lines_of(lists, pattern):
        if not line:
            if fields:
                yield fields
            fields, key = {}, None
        elif line[0] == " " and key:
            fields[key] += "\n" + line[1:]
        else:
            key, _, value = line.partition(": ")
            fields[key] = value
    if fields:
        yield fields


def packages_of(lists):
    """Every package once, with its title and its long description."""
    texts = {fields["Description-md5"]: fields.get("Description-en", "")
             for fields in stanzas(lists, "Translation-en*")}
    packages = {}
    for fields in stanzas(lists, "Packages*"):
        title, _, long = texts.get(fields.get("Description-md5"),
                                   "").partition("\n")
        long = re.sub(r"\s+", " ", long.replace("\n.\n", "\n"))
        packages[fields["Package"]] = dict(fields, title=title, long=long)
    return [packages[name] for name in sorted(packages)]


def shipped(lists):
    """(path, package) of every file of the archive."""
    for line in lines_of(lists, "Contents-*"):
        path, _, owners = line.rpartition(" ")
        for owner in owners.split(","):
            yield path.rstrip(), owner.rpartition("/")[2]


def folders_of(lists):
    """Folders that each package ships files into."""
    folders = collections.defaultdict(set)
    for path, package in shipped(lists):
        folders[package].add(path.rpartition("/")[0])
    return folders


# --- the sets: rows of a text and its labels -------------------------------

def folders(lists):
    found = folders_of(lists)
    return [(package["long"], found[package["Package"]])
            for package in packages_of(lists)]


def source_of(package):
    return package.get("Source", package["Package"]).partition(" ")[0]


def sources(lists):
    packages = packages_of(lists)
    counts = collections.Counter(map(source_of, packages))
    return [(package["title"], {source_of(package)}) for package in packages
            if counts[source_of(package)] >= SOURCE_PACKAGES_MIN]


def few(lists):
    rows = []
    for package in packages_of(lists):
        host = re.match(r"https?://([^/:]+)", package.get("Homepage", ""))
        rows.append((package["long"], {package["Section"]} |
                     ({host.group(1)} if host else set())))
    rows.sort(key=lambda row: digest(row[0]))
    return rows[:int(FEW_POINTS / (1 - TEST_SHARE))]


def people(lists):
    return [(package["title"],
             {re.sub(r"\s*<.*|[;,]", "", package["Maintainer"])})
            for package in packages_of(lists)]


def files(lists):
    """A sample of paths, by hash."""
    paths = [(path, package) for path, package in shipped(lists)
             if digest(path) < FILES / 8e6]
    sections = {package["Package"]: package["Section"]
                for package in packages_of(lists)}
    return [(path, {sections[package], package}) for path, package in paths
            if package in sections]


def plain(source):
    """What is left of a manual page without its macros."""
    source = re.sub(r"^[.'][\\\"].*$", "", source, flags=re.M)
    source = re.sub(r"^[.'][A-Za-z]+ ?", "", source, flags=re.M)
    source = re.sub(r"\\f.|\\s[-+]?\d|\\\(..|\\[&|/,]", "", source)
    return re.sub(r"\s+", " ", source.replace("\\-", "-")).strip()


def owners_of_pages(known):
    """The package of each manual page that a package of `known` has."""
    owners = {}
    for name in glob.glob("/var/lib/dpkg/info/*.list"):
        package = os.path.basename(name)[:-5].partition(":")[0]
        if package not in known:
            continue
        with open(name, encoding="utf-8") as listed:
            for path in listed:
                if re.match(r"/usr/share/man/man\d/", path):
                    owners[path.strip()] = package
    return owners


def pages(lists):
    owners = owners_of_pages(
        {package["Package"] for package in packages_of(lists)})
    rows = []
    for path in sorted(owners):
        if os.path.islink(path) or not os.path.exists(path):
            continue
        with gzip.open(path, "rt", errors="replace") as file:
            text, _, others = re.sub(
                r"^\.so .*", "", file.read()).partition("SEE ALSO")
        text = plain(text)[:PAGE_LETTERS]
        refers = re.findall(r"([\w.+-]+)\((\d\w*)\)",
                            re.sub(r"^\.[A-Z]+ ([\w.+-]+) (?=\()", r"\1",
                                   others, flags=re.M).replace("\\fP", "")
                            .replace("\\fR", "").replace("\\fB", "")
                            .replace("\\fI", "").replace("\\-", "-"))
        section = os.path.basename(os.path.dirname(path))
        rows.append((text, {section, owners[path]} |
                     {"%s(%s)" % pair for pair in refers}))
    return rows


# name: (the rows, points that a label has at least)
SETS = {
    "folders": (folders, 20),
    "sources": (sources, 1),
    "pages": (pages, LABEL_POINTS_MIN),
    "few": (few, 5),
    "people": (people, 2),
    "files": (files, 20),
}


# --- writing ---------------------------------------------------------------

def digest(text):
    """A number from 0 to 1 by which things are chosen: the same each time."""
    hashed = hashlib.blake2b(text.encode(errors="replace"), digest_size=8)
    return int.from_bytes(hashed.digest(), "little") / 2.0 ** 64


def write(folder, name, rows, least):
    """Rows with labels that are frequent enough, on the side they belong to."""
    counts = collections.Counter(
        label for _, labels in rows for label in labels)
    kept = [(text, sorted(label for label in labels
                          if counts[label] >= least and label))
            for text, labels in rows if text]
    kept = sorted(((text, labels) for text, labels in kept if labels),
                  key=lambda row: (digest("in " + row[0]), row))[:ROWS_MAX]
    sides = {"train": [], "test": []}
    for text, labels in kept:
        # Not the hash that the featurizer or a sample of rows goes by.
        held = digest("side of " + text) < TEST_SHARE
        sides["test" if held else "train"].append((text, labels))
    os.makedirs(os.path.join(folder, name), exist_ok=True)
    for side, rows_of_side in sides.items():
        rows_of_side.sort(key=lambda row: (digest(row[0]), row))
        path = os.path.join(folder, name, side + ".csv")
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["text", "labels"])
            writer.writerows((text, ";".join(labels))
                             for text, labels in rows_of_side)
    words = sum(len(text.split()) for text, _ in kept) / len(kept)
    labels = sum(len(labels) for _, labels in kept)
    distinct = len({label for _, row in kept for label in row})
    print("| %s | %d | %d | %d | %.1f | %.1f | %.1f |" % (
        name, len(sides["train"]), len(sides["test"]), distinct,
        labels / len(kept), labels / distinct, words), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default=",".join(SETS))
    parser.add_argument("--lists")
    own = parser.parse_args()
    lists = own.lists or os.path.join(own.folder, "lists")
    if not glob.glob(os.path.join(lists, "*Contents-*")):
        fetch(lists)
    print("| set | train | test | labels | labels a point | points a label "
          "| words a text |\n|---|---|---|---|---|---|---|")
    for name in own.only.split(","):
        rows, least = SETS[name]
        write(own.folder, name, rows(lists), least)


if __name__ == "__main__":
    main()
