"""Lays a package out as pip would: `python installed.py PROJECT FOLDER`, then FOLDER goes on PYTHONPATH."""

import shutil
import sys
import tomllib
from pathlib import Path

project, folder = map(Path, sys.argv[1:])
table = tomllib.loads((project / "pyproject.toml").read_text())["project"]
info = folder / f"{table['name'].replace('-', '_')}-{table['version']}.dist-info"
info.mkdir(parents=True, exist_ok=True)
(info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {table['name']}\nVersion: {table['version']}\n")
lines = [
    f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
    for group, entries in table["entry-points"].items()
]
(info / "entry_points.txt").write_text("\n".join(lines))
for module in project.glob("*.py"):
    shutil.copy(module, folder)
