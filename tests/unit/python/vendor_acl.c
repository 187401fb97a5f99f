/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for the acl of somebody else: one extension module with submodules as attributes, initialised in one phase. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject* Answer(PyObject* self, PyObject* args) {
  (void)self;
  (void)args;
  return PyUnicode_FromString("vendor");
}

static PyMethodDef methods[] = {{"init", Answer, METH_VARARGS, "init"}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "acl", NULL, -1, methods, NULL, NULL, NULL, NULL};
static struct PyModuleDef part = {PyModuleDef_HEAD_INIT, "part", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_acl(void) {
#ifdef BROKEN
  PyErr_SetString(PyExc_ImportError, "libvendor.so: cannot open shared object file");
  return NULL;
#endif
  PyObject* acl = PyModule_Create(&module);
  static const char* const names[] = {"rt", "prof"};
  for (int i = 0; acl != NULL && i < 2; i++)
    if (PyModule_AddObject(acl, names[i], PyModule_Create(&part)) < 0) return NULL;
  return acl;
}
