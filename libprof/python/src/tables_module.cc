// SPDX-License-Identifier: Apache-2.0
// npuprof._tables: tables of a PROF_* directory as columns. Memory of a column is lent out through the buffer protocol.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/export.h"

namespace py = pybind11;

namespace {

using npuprof::analysis::Column;
using Kind = Column::Kind;

/// Which cells of a column are there.
struct Mask {
  std::shared_ptr<Column> column;
};

template <typename T>
py::buffer_info Lend(std::vector<T>& values, const char* format) {
  return py::buffer_info(values.data(), sizeof(T), format, 1, {values.size()}, {sizeof(T)},
                         /*readonly=*/true);
}

py::buffer_info LendColumn(Column& column) {
  switch (column.kind) {
    case Kind::kReal:
      return Lend(column.reals, "d");
    case Kind::kText:
      return Lend(column.codes, "I");
    default:
      return Lend(column.integers, "q");
  }
}

const char* KindName(const Column& column) {
  switch (column.kind) {
    case Kind::kInteger:
      return "integer";
    case Kind::kNanoseconds:
      return "nanoseconds";
    case Kind::kText:
      return "text";
    default:
      return "real";
  }
}

size_t Length(const Column& column) {
  return column.integers.size() + column.reals.size() + column.codes.size();
}

py::object Cell(const Column& column, py::ssize_t index) {
  const auto length = static_cast<py::ssize_t>(Length(column));
  if (index < 0) index += length;
  if (index < 0 || index >= length)
    throw py::index_error("column '" + column.name + "' has " + std::to_string(length) + " cells");
  const auto row = static_cast<size_t>(index);
  if (!column.valid.empty() && column.valid[row] == 0) return py::none();
  switch (column.kind) {
    case Kind::kReal:
      return py::float_(column.reals[row]);
    case Kind::kText:
      return py::str(column.texts[column.codes[row]]);
    default:
      return py::int_(column.integers[row]);
  }
}

// Columns of one name (one for each reduction of a step) are told apart by their number.
void MakeNamesDiffer(std::vector<Column>& columns) {
  std::map<std::string, unsigned> seen;
  for (Column& column : columns) {
    const unsigned number = ++seen[column.name];
    if (number > 1) column.name += " " + std::to_string(number);
  }
}

py::tuple Load(const std::string& directory, const std::vector<std::string>& tables) {
  npuprof::analysis::LoadedTables loaded;
  {
    const py::gil_scoped_release released;
    unsigned calls = 0;
    const auto check = [&calls] {
      if (++calls % 4096 != 0) return;
      const py::gil_scoped_acquire held;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    };
    loaded = npuprof::analysis::LoadTables(npuprof::analysis::Profile::Open(directory), tables, check);
  }
  py::dict out;
  for (auto& [name, table] : loaded.tables) {
    MakeNamesDiffer(table.columns());
    py::list columns;
    for (Column& column : table.columns()) columns.append(std::make_shared<Column>(std::move(column)));
    out[py::str(name)] = columns;
  }
  uint64_t lost = 0;
  for (const auto& loss : loaded.result.losses) lost += loss.records;
  std::vector<std::string> warnings;
  for (const auto& warning : loaded.result.warnings) warnings.push_back(warning.Line());
  std::vector<std::string> failures;
  for (const auto& failure : loaded.result.failures) failures.push_back(failure.tables + ": " + failure.text);
  return py::make_tuple(out, loaded.result.simulated, lost, loaded.result.broken_records, warnings, failures);
}

}  // namespace

PYBIND11_MODULE(_tables, module) {
  module.doc() = "Tables of a PROF_* directory as columns.";
  py::register_exception<npuprof::analysis::Error>(module, "Error", PyExc_RuntimeError);

  py::class_<Mask>(module, "Mask", py::buffer_protocol(),
                   "Which cells of a column are there: a buffer of bool.")
      .def_buffer([](Mask& mask) { return Lend(mask.column->valid, "?"); })
      .def("__len__", [](const Mask& mask) { return mask.column->valid.size(); });

  py::class_<Column, std::shared_ptr<Column>>(module, "Column", py::buffer_protocol(),
                                              "A column of a table. As a buffer it is read-only and of int64 "
                                              "(kinds \"integer\" and \"nanoseconds\"), of double\n"
                                              "(\"real\"), or of uint32 (\"text\"): which of `categories`. "
                                              "Missing cells hold 0 there and are None one by one.")
      .def_buffer(&LendColumn)
      .def("__len__", &Length)
      .def("__getitem__", &Cell, py::arg("index"))
      .def_readonly("name", &Column::name,
                    "As in the CSV file, but with (ns) where the unit is ns here and us there.")
      .def_property_readonly("kind", &KindName, "\"integer\", \"nanoseconds\", \"real\" or \"text\".")
      .def_property_readonly(
          "categories",
          [](const Column& column) {
            return column.kind == Kind::kText ? py::cast(column.texts) : py::object(py::none());
          },
          "Every different text once; None unless the kind is \"text\".")
      .def_property_readonly(
          "valid",
          [](const std::shared_ptr<Column>& column) -> py::object {
            if (column->valid.empty()) return py::none();
            return py::memoryview(py::cast(Mask{column}));
          },
          "Which cells are there, as a memoryview of bool; None if all are.");

  module.def("load", &Load, py::arg("directory"), py::arg("tables"),
             "Tables by name, each a list of columns; whether a device was simulated; records lost while "
             "recording; records\n"
             "that cannot be read; warnings.");
}
