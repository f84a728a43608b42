// Between torch's tensors and MLX's arrays: what a Python kernel is given for an argument, and the tensor of its result.
//
// The invariants of storages are those of storage/contents.py. Part of native.cpp, the one translation unit.

#pragma once

#include <Python.h>

#include <optional>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/library.h>

namespace py = pybind11;

namespace {

constexpr auto kDevice = c10::DispatchKey::PrivateUse1;

// Made once and never given back: kernels may be called until the interpreter has ended.
struct Runtime {
  PyObject* local;    // runtime._local: `adopted` where the thread has MLX's stream, `pending` results
  PyObject* below;    // layout.below: not empty while an array is kept channels last
  PyObject* read;     // contents.read: the array of any tensor
  PyObject* dtypes;   // dtypes.to_torch: MLX's element types to torch's
  PyObject* array;    // mlx.core.array, the class
  PyObject* drain;    // runtime.drain
  Py_ssize_t limit;   // runtime.PENDING_LIMIT
  PyObject* array_name;
  PyObject* shape_name;
  PyObject* dtype_name;
  PyObject* adopted_name;
  PyObject* pending_name;
  torch::Library* library;
};

Runtime* runtime = nullptr;
// Like storage/allocation.py's: a distinct number for each storage, where nothing is; these begin where those never come.
uintptr_t next_address = (uintptr_t(1) << 46) + (uintptr_t(1) << 45);

py::object stolen(PyObject* object) {
  return py::reinterpret_steal<py::object>(object);
}

py::object borrowed(PyObject* object) {
  return py::reinterpret_borrow<py::object>(object);
}

// `object`, or the error that Python has set as an exception.
py::object checked(PyObject* object) {
  if (object == nullptr) {
    throw py::error_already_set();
  }
  return stolen(object);
}

// Forgets an error for which the Python kernel will find a better answer. Ctrl-C is none of those.
void forget_error() {
  if (PyErr_Occurred() == nullptr) {
    return;
  }
  if (!PyErr_ExceptionMatches(PyExc_Exception)) {
    throw py::error_already_set();
  }
  PyErr_Clear();
}

bool shape_of(PyObject* array, c10::SmallVectorImpl<int64_t>& sizes) {
  py::object shape = stolen(PyObject_GetAttr(array, runtime->shape_name));
  if (!shape || !PyTuple_CheckExact(shape.ptr())) {
    return false;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(shape.ptr());
  for (Py_ssize_t i = 0; i < n; ++i) {
    sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), i)));
  }
  return true;
}

// The array that the storage of a contiguous tensor holds, if it has the tensor's own shape; else nothing.
py::object held(const at::Tensor& t) {
  if (!t.is_privateuseone() || !t.is_contiguous()) {
    return {};
  }
  py::object storage = checked(THPStorage_Wrap(t.storage()));
  py::object array = stolen(PyObject_GetAttr(storage.ptr(), runtime->array_name));
  c10::SmallVector<int64_t, 6> sizes;
  if (!array || !shape_of(array.ptr(), sizes) || t.sizes() != at::IntArrayRef(sizes)) {
    forget_error();
    return {};
  }
  return array;
}

bool is_wrapped_number(const at::Tensor& t) {
  return t.defined() && t.unsafeGetTensorImpl()->is_wrapped_number() && t.device().is_cpu();
}

// How numbers are given to a function. MLX's own take floats beside float32, as torch computes with them;
// kernels tell integers from floats.
enum class Numbers { kAsTheyAre, kAsFloats };

py::object number(const at::Scalar& value, Numbers numbers) {
  if (value.type() == at::kUInt64) {  // beyond int64
    return {};
  }
  if (value.isBoolean()) {
    return borrowed(value.toBool() ? Py_True : Py_False);
  }
  if (value.isFloatingPoint() || (value.isIntegral(false) && numbers == Numbers::kAsFloats)) {
    return stolen(PyFloat_FromDouble(value.toDouble()));
  }
  return value.isIntegral(false) ? stolen(PyLong_FromLongLong(value.toLong())) : py::object();
}

// What a function over arrays is given for a tensor; nothing where Python has to look at it.
py::object operand(const at::Tensor& t, Numbers numbers) {
  if (!t.defined()) {
    return py::none();
  }
  if (is_wrapped_number(t)) {  // `x * 2`
    return number(t.item(), numbers);
  }
  if (t.is_conj() || t.is_neg()) {
    return {};
  }
  if (py::object array = held(t)) {
    return array;
  }
  py::object tensor = checked(THPVariable_Wrap(t));
  py::object array = stolen(PyObject_CallOneArg(runtime->read, tensor.ptr()));
  forget_error();
  return array;
}

void remember(PyObject* array) {
  py::object pending = checked(PyObject_GetAttr(runtime->local, runtime->pending_name));
  py::object reference = checked(PyWeakref_NewRef(array, nullptr));
  if (PyList_Append(pending.ptr(), reference.ptr()) != 0) {
    throw py::error_already_set();
  }
  if (PyList_GET_SIZE(pending.ptr()) > runtime->limit) {
    checked(PyObject_CallNoArgs(runtime->drain));
  }
}

std::optional<at::ScalarType> dtype_of(PyObject* array) {
  py::object dtype = checked(PyObject_GetAttr(array, runtime->dtype_name));
  PyObject* found = PyDict_GetItemWithError(runtime->dtypes, dtype.ptr());
  if (found == nullptr || !THPDtype_Check(found)) {
    forget_error();
    return std::nullopt;
  }
  return reinterpret_cast<THPDtype*>(found)->scalar_type;
}

// A new contiguous tensor that holds `array`.
at::Tensor wrap(PyObject* array, at::ScalarType dtype) {
  c10::SmallVector<int64_t, 6> sizes;
  if (!shape_of(array, sizes)) {
    throw py::error_already_set();
  }
  const auto bytes = c10::multiply_integers(sizes) * static_cast<int64_t>(c10::elementSize(dtype));
  next_address += 64;
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(),
      bytes,
      c10::DataPtr(reinterpret_cast<void*>(next_address), c10::Device(c10::DeviceType::PrivateUse1, 0)),
      /*allocator=*/nullptr,
      /*resizable=*/false));
  py::object object = checked(THPStorage_Wrap(storage));
  if (PyObject_SetAttr(object.ptr(), runtime->array_name, array) != 0) {
    throw py::error_already_set();
  }
  auto t = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(kDevice), c10::scalarTypeToTypeMeta(dtype));
  t.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  remember(array);
  return t;
}

}  // namespace
