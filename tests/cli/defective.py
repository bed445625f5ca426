"""A FileIO with a defect, for PyIceberg's property py-io-impl."""

from __future__ import annotations

from pyiceberg.io import FileIO, InputFile
from pyiceberg.io.pyarrow import PyArrowFileIO


class DefectiveIO(PyArrowFileIO, FileIO):
    """Fails in a way that nobody expects."""

    def new_input(self, location: str) -> InputFile:  # type: ignore[override]
        raise ZeroDivisionError("a defect")
