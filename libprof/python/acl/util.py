# SPDX-License-Identifier: Apache-2.0
"""Between Python objects and addresses. The numpy functions need numpy, the others do not."""

import ctypes as _ctypes

from ._acl.util import bytes_to_ptr, ptr_to_bytes

__all__ = ["bytes_to_ptr", "ptr_to_bytes", "numpy_to_ptr", "numpy_contiguous_to_ptr", "ptr_to_numpy"]


def numpy_to_ptr(array):
    """Address of the elements of a C-contiguous array; valid as long as the array lives."""
    import numpy

    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"numpy_to_ptr takes a numpy.ndarray, not {type(array).__name__}")
    if not array.flags["C_CONTIGUOUS"]:
        raise ValueError("numpy_to_ptr takes a C-contiguous array; make one with numpy.ascontiguousarray()")
    return array.ctypes.data


numpy_contiguous_to_ptr = numpy_to_ptr


def ptr_to_numpy(ptr, shape, dtype):
    """An array over the memory at ptr, which must outlive it. dtype: anything numpy.dtype() takes, or numpy's type number."""
    import numpy

    if isinstance(dtype, int):
        dtype = next((t for t in map(numpy.dtype, numpy.sctypeDict.values()) if t.num == dtype), None)
        if dtype is None:
            raise ValueError("ptr_to_numpy does not know this type number")
    dtype = numpy.dtype(dtype)
    if ptr == 0:
        raise ValueError("ptr_to_numpy cannot read from address 0")
    size = dtype.itemsize
    for n in shape:
        size *= n
    memory = (_ctypes.c_byte * size).from_address(ptr)
    return numpy.frombuffer(memory, dtype=dtype).reshape(shape)
