# SPDX-License-Identifier: Apache-2.0
"""Intervals of time, asked whether one of them holds a point."""
from bisect import bisect_left, bisect_right


class Intervals:
    """Closed or half open intervals; add() all of them first, then ask."""

    def __init__(self):
        self._pairs = []
        self._begins = self._reach = None

    def add(self, begin, end):
        self._pairs.append((begin, end))

    def pairs(self):
        """All intervals in the order of their begin, the longest of equal ones first."""
        self._sort()
        return self._pairs

    def _sort(self):
        if self._begins is not None:
            return
        self._pairs.sort(key=lambda p: (p[0], -p[1]))
        self._begins = [b for b, _ in self._pairs]
        self._reach, reach = [], 0
        for _, end in self._pairs:
            reach = max(reach, end)
            self._reach.append(reach)

    def after_begin(self, t):
        """Is begin < t <= end for some interval?"""
        self._sort()
        i = bisect_left(self._begins, t)
        return i > 0 and self._reach[i - 1] >= t

    def holds(self, t):
        """Is begin <= t <= end for some interval?"""
        self._sort()
        i = bisect_right(self._begins, t)
        return i > 0 and self._reach[i - 1] >= t

    def hold(self, begin, end):
        """Is [begin, end] inside one interval?"""
        self._sort()
        i = bisect_right(self._begins, begin)
        while i > 0 and self._reach[i - 1] >= end:
            i -= 1
            if self._pairs[i][1] >= end:
                return True
        return False

    def partly_overlapping(self):
        """Yields pairs of intervals that overlap without one holding the other."""
        self._sort()
        open_ = []
        for begin, end in self._pairs:
            while open_ and open_[-1][1] <= begin:
                open_.pop()
            if open_ and end > open_[-1][1]:
                yield open_[-1], (begin, end)
            else:
                open_.append((begin, end))
