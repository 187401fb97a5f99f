# SPDX-License-Identifier: Apache-2.0
"""Tables of a PROF_* directory as columns, without a detour through text.

    >>> import npuprof, numpy
    >>> tables = npuprof.load("out/PROF_000001_...")
    >>> duration = numpy.asarray(tables["op_summary"]["Task Duration(ns)"])
"""
import os as _os
from collections.abc import Mapping as _Mapping

from ._tables import Column, Error
from ._tables import load as _load

__all__ = ["Column", "Error", "Table", "Tables", "load"]


class Table(_Mapping):
    """Columns of one table by name, in the order of the CSV file."""

    def __init__(self, name, columns):
        self.name = name
        self._columns = {column.name: column for column in columns}

    def __getitem__(self, name):
        return self._columns[name]

    def __iter__(self):
        return iter(self._columns)

    def __len__(self):
        return len(self._columns)

    def __repr__(self):
        return f"<npuprof.Table {self.name}: {self.rows} rows, {len(self)} columns>"

    @property
    def rows(self):
        """How many rows the table has."""
        return len(next(iter(self._columns.values()), ()))

    def row(self, index):
        """One row as a dict; cells that are missing are None."""
        return {name: column[index] for name, column in self._columns.items()}


class Tables(_Mapping):
    """Tables with rows by name, and what is to be known of all of them."""

    def __init__(self, tables, simulated, lost, broken, warnings, failures=()):
        self._tables = {name: Table(name, columns) for name, columns in tables.items()}
        self.simulated = simulated
        self.lost = lost
        self.broken = broken
        self.warnings = warnings
        self.failures = list(failures)

    def __getitem__(self, name):
        return self._tables[name]

    def __iter__(self):
        return iter(self._tables)

    def __len__(self):
        return len(self._tables)

    def __repr__(self):
        mark = "SIMULATED, " if self.simulated else ""
        return f"<npuprof.Tables: {mark}{', '.join(self._tables) or 'none'}>"


def load(directory, tables=None):
    """Reads a PROF_* directory, or a directory with exactly one.

    tables: names of the tables wanted, as in the file names of the CSV export; all if None. Those without rows are left
    out. Raises Error if the directory cannot be read, a name is unknown, or one of the tables
    that were named cannot be made; if none was, Tables.failures tells of those that could not.
    """
    if isinstance(tables, str):
        raise TypeError(f"tables is a list of names, not the text {tables!r}")
    return Tables(*_load(_os.fspath(directory), [] if tables is None else list(tables)))
