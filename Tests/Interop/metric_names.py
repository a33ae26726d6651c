"""Metrics as the sources declare them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def declared():
    """The labels of each metric, by its name."""
    labels_of = {}
    sources = "\n".join(path.read_text() for path in (ROOT / "Sources").rglob("*.swift"))
    for name, labels in re.findall(
            r'"(countersign_\w+)",\s*(?:"(?:[^"\\]|\\.)*"(?:\s*\+ "(?:[^"\\]|\\.)*")*|"""[\s\S]*?""")\s*(?:,\s*labels: \[([^\]]*)\])?',
            sources):
        labels_of.setdefault(name, set()).update(re.findall(r'"(\w+)"', labels))
    return labels_of
