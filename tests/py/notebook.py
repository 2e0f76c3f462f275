"""Runs a notebook from its first cell to its last, as a reader would: python notebook.py NOTEBOOK FOLDER

Cells that fail end it. Says how many cells had which kind of output.
"""

import sys
from collections import Counter

import nbformat
from nbclient import NotebookClient


def main(path, folder):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    stored = [cell for cell in notebook.cells if cell.get("outputs")]
    assert not stored, "what a notebook shows is made when it is run, and is not kept"
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = Counter(output.output_type for cell in cells for output in cell.outputs)
    print(f"{len(cells)} cells:", *(f"{count} {kind}" for kind, count in sorted(shown.items())))


if __name__ == "__main__":
    main(*sys.argv[1:])
