"""Check of the directives in a lit test's comments; FileCheck itself ignores misspelt directives."""

import re

_SUFFIX = r"(?:-NEXT|-SAME|-NOT|-DAG|-LABEL|-EMPTY|-COUNT-\d+)?"
_LIT_WORDS = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "DEFINE", "REDEFINE"}
_PREFIXES = re.compile(r"--check-prefix(?:es)?[= ]([A-Z0-9_,-]+)")
_EXPECTED = re.compile(r"expected-error(?:-re)?\s*(?:@(?:[+-]\d+|above|below|unknown))?\s*\{\{.+?\}\}")


def prefixes(text: str) -> set[str]:
    """Return the check prefixes that the RUN lines use."""
    found = {p for names in _PREFIXES.findall(text) for p in names.split(",")}
    runs = [line for line in text.split("\n") if "RUN:" in line]
    reads_default = any("ROUNDTRIP" in run or ("filecheck %s" in run and "--check-prefix" not in run) for run in runs)
    return found | ({"CHECK"} if reads_default else set())


def misspelt_directives(text: str) -> list[str]:
    """Return lines of `text` that look like a directive and are none, or that no RUN line reads."""
    known = "|".join(map(re.escape, sorted(prefixes(text), reverse=True))) or "(?!)"
    right = re.compile(rf"(?:{known}){_SUFFIX}:")
    wrong = []
    for line in text.split("\n"):
        comment = re.match(r"\s*//\s*(.*)", line)
        if comment is None:
            if "expect" in line and re.search(r"//.*expect\w*-\w+", line) and not _EXPECTED.search(line):
                wrong.append(line)
            continue
        body = comment[1]
        word = re.match(r"[A-Z][A-Z0-9_-]+", body)
        is_directive = word and (
            re.match(r"\s*[:;.]", body[word.end() :])
            or re.match(r"C[A-Z]{2,4}K\b|CHECK", word[0])
            or any(word[0].startswith(p + "-") or word[0] == p for p in prefixes(text))
        )
        if is_directive and word[0] not in _LIT_WORDS and not right.match(body):
            wrong.append(line)
        if re.match(r"expect\w*-\w+", body) and not _EXPECTED.match(body):
            wrong.append(line)
    return wrong


def unused_prefixes(text: str) -> set[str]:
    """Check prefixes that a RUN line names and no directive uses."""
    return {p for p in prefixes(text) if not re.search(rf"//\s*{re.escape(p)}{_SUFFIX}:", text)}
