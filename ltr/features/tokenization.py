"""Texts and names become words, as they are written and as stems."""

import re

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # a character is a word
TOKEN = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
SAYS_NOTHING = """
a an the this that these those i me my we our you your he she it its they them their who what which when where why how
is are was were be been being am do does did have has had can could will would shall should may might must and or but
if then than so as of at by for with about into to from in on up out over under also there here not no yes please all
any some more most such only own same very just let get s t d ll m re ve
"""
STOP_WORDS = frozenset(SAYS_NOTHING.split())


def pieces(name: str) -> str:
    """A name as a text: split at underscores, dots, camelCase and digits, lower-cased.

    >>> pieces("getHTTPStatus_v2.beta")
    'get http status v 2 beta'
    """
    return " ".join(TOKEN.findall(BOUNDARY.sub(" ", name))).lower()


def stem(word: str) -> str:
    """The word without a light English suffix, so that forms of one word meet.

    >>> [stem(word) for word in ("cities", "booking", "booked", "books", "stopped", "glass", "retrieve", "bed")]
    ['city', 'book', 'book', 'book', 'stop', 'glass', 'retriev', 'bed']
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    for suffix, shortest in (("ing", 6), ("ed", 5)):
        if len(word) >= shortest and word.endswith(suffix):
            cut = word[: -len(suffix)]
            return cut[:-1] if cut[-1] == cut[-2] and cut[-1] not in "lsz" else cut.removesuffix("e")
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def stemmed_words(text: str) -> list[str]:
    """The words of a text: split like a name, lower-cased, without stop words, stemmed.

    >>> stemmed_words("Booking the getFlights tool")
    ['book', 'flight', 'tool']
    """
    if text.isascii() and text.isalpha() and text[1:].islower():  # one word, as most are: nothing to split
        word = text.lower()
        return [] if word in STOP_WORDS else [stem(word)]
    return [stem(word) for word in pieces(text).split() if word not in STOP_WORDS]
