# SPDX-License-Identifier: Apache-2.0
"""Checks PROF_* directories against the published file format, apart from the decoder of this project."""
from .check import validate
from .report import Report

__all__ = ["Report", "validate"]
