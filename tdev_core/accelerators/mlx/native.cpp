// What stands before the Python kernels of device `mlx`: torch's way to MLX without a detour through Python's wrappers.
//
// A kernel of the operator table is a Python function over arrays. Taking the arrays from the storages, and making a
// tensor of the result, costs more in Python than most kernels do; it is done here instead. Where a row says what MLX
// itself calls for float32 (`Row.float32`), that function is called and no Python at all. View operators need none
// either: torch's own kernels compute strides for any device.
//
// Nothing is decided here that Python does not decide too. Whatever is not that simple, and whatever goes wrong, is
// left to the Python kernel, which `Dispatcher` finds where it was registered before. The invariants of storages are
// those of storage.py.

#include <Python.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/SmallVector.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/library.h>

namespace py = pybind11;

namespace {

using torch::jit::Stack;

constexpr auto kDevice = c10::DispatchKey::PrivateUse1;

// Made once and never given back: kernels may be called until the interpreter has ended.
struct Runtime {
  PyObject* local;    // runtime._local: `adopted` where the thread has MLX's stream, `pending` results
  PyObject* below;    // layout.below: not empty while an array is kept channels last
  PyObject* read;     // storage.read: the array of any tensor
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
bool enabled = true;
int64_t answered = 0;
// Like allocation.py's: a distinct number for each storage, where nothing is; these begin where those never come.
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

// Before the Python kernel of one operator.
class Front final : public c10::OperatorKernel {
 public:
  Front(const c10::OperatorHandle& operation, const py::object& kernel, const py::object& float32, bool in_place)
      : kernel_(kernel.inc_ref().ptr()),
        float32_(float32.is_none() ? nullptr : float32.inc_ref().ptr()),
        in_place_(in_place),
        results_(operation.schema().returns().size()),
        usual_(operation.getComputedKernelForDispatchKey(kDevice)) {
    for (const auto& argument : operation.schema().arguments()) {
      const auto type = argument.real_type();
      const auto plain = type->kind() == c10::TypeKind::OptionalType
          ? type->castRaw<c10::OptionalType>()->getElementType()
          : type;
      PyObject* name = argument.kwarg_only() ? PyUnicode_InternFromString(argument.name().c_str()) : nullptr;
      fields_.push_back({plain->kind(), name, argument.default_value()});
    }
  }

  void operator()(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, Stack* stack) const {
    if (!enabled || !answer(*stack)) {
      usual_.callBoxed(operation, keys, stack);
    }
  }

 private:
  struct Field {
    c10::TypeKind kind;
    PyObject* name;  // of an argument that is given by name; else null
    std::optional<c10::IValue> otherwise;

    bool is_default(const c10::IValue& value) const {
      return otherwise.has_value() && !value.isTensor() && *otherwise == value;
    }
  };

  using Given = at::ArrayRef<c10::IValue>;

  struct Call {
    c10::SmallVector<py::object, 6> values;
    c10::SmallVector<PyObject*, 2> names;  // of the last of them
  };

  bool answer(Stack& stack) const {
    py::gil_scoped_acquire gil;
    if (!stolen(PyObject_GetAttr(runtime->local, runtime->adopted_name))) {
      forget_error();
      return false;
    }
    const auto given = torch::jit::last(stack, fields_.size());
    const bool short_way = float32_ != nullptr && PyDict_GET_SIZE(runtime->below) == 0 && is_float32(given);
    Call call;
    if (!collect(given, short_way ? Numbers::kAsFloats : Numbers::kAsTheyAre, call)) {
      return false;
    }
    py::object result = made(short_way ? float32_ : kernel_, call);
    if (!result) {
      forget_error();
      return false;
    }
    c10::SmallVector<at::Tensor, 2> outs;
    if (in_place_) {
      at::Tensor self = given[0].toTensor();
      if (!store(self, result.ptr(), short_way)) {
        return false;
      }
      outs.push_back(std::move(self));
    } else if (!tensors_of(result.ptr(), short_way, outs)) {
      return false;
    }
    torch::jit::drop(stack, fields_.size());
    for (auto& out : outs) {
      stack.emplace_back(std::move(out));
    }
    ++answered;
    return true;
  }

  static py::object made(PyObject* function, const Call& call) {
    c10::SmallVector<PyObject*, 6> raw;
    for (const auto& value : call.values) {
      raw.push_back(value.ptr());
    }
    if (call.names.empty()) {
      return stolen(PyObject_Vectorcall(function, raw.data(), raw.size(), nullptr));
    }
    py::tuple names(call.names.size());
    for (size_t i = 0; i < call.names.size(); ++i) {
      names[i] = borrowed(call.names[i]);
    }
    return stolen(PyObject_Vectorcall(function, raw.data(), raw.size() - call.names.size(), names.ptr()));
  }

  // Whether every operand is float32, or a number beside it, and nothing is asked for by name.
  bool is_float32(Given given) const {
    for (size_t i = 0; i < given.size(); ++i) {
      const auto& value = given[i];
      const auto& field = fields_[i];
      if (field.name != nullptr && !field.is_default(value)) {
        return false;
      }
      if (field.kind == c10::TypeKind::NumberType && !value.isDouble() && !value.isInt()) {
        return false;
      }
      if (value.isTensor() && !is_float32(value.toTensor())) {
        return false;
      }
      if (value.isTensorList()) {
        for (const at::Tensor& t : value.toTensorList()) {
          if (!is_float32(t)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  static bool is_float32(const at::Tensor& t) {
    return t.defined() &&
        (t.scalar_type() == at::kFloat ||
         (is_wrapped_number(t) && (t.scalar_type() == at::kDouble || t.scalar_type() == at::kLong)));
  }

  // The arguments of the function; false where Python has to look at them.
  bool collect(Given given, Numbers numbers, Call& call) const {
    size_t positional = 0;
    while (positional < fields_.size() && fields_[positional].name == nullptr) {
      ++positional;
    }
    const size_t named = positional;
    while (positional > 0 && fields_[positional - 1].is_default(given[positional - 1])) {
      --positional;
    }
    for (size_t i = 0; i < fields_.size(); ++i) {
      const auto& field = fields_[i];
      if (i < named ? i >= positional : field.is_default(given[i])) {
        continue;
      }
      py::object value = in_place_ && i == 0 ? destination(given[0]) : python(field.kind, given[i], numbers);
      if (!value) {
        return false;
      }
      call.values.push_back(std::move(value));
      if (field.name != nullptr) {
        call.names.push_back(field.name);
      }
    }
    return true;
  }

  // The array of a tensor that fills its storage, so that another array can take its place.
  static py::object destination(const c10::IValue& value) {
    const auto& t = value.toTensor();
    return t.is_conj() || t.is_neg() ? py::object() : held(t);
  }

  static bool store(const at::Tensor& self, PyObject* result, bool short_way) {
    c10::SmallVector<int64_t, 6> sizes;
    if (Py_TYPE(result) != reinterpret_cast<PyTypeObject*>(runtime->array) || !shape_of(result, sizes) ||
        self.sizes() != at::IntArrayRef(sizes) || (!short_way && dtype_of(result) != self.scalar_type())) {
      forget_error();
      return false;
    }
    py::object storage = checked(THPStorage_Wrap(self.storage()));
    if (PyObject_SetAttr(storage.ptr(), runtime->array_name, result) != 0) {
      throw py::error_already_set();
    }
    remember(result);
    return true;
  }

  // Tensors for the one array of a result, or for each of its arrays; false where it is anything else.
  bool tensors_of(PyObject* result, bool short_way, c10::SmallVectorImpl<at::Tensor>& outs) const {
    if (Py_TYPE(result) == reinterpret_cast<PyTypeObject*>(runtime->array)) {
      const auto dtype = short_way ? std::optional(at::kFloat) : dtype_of(result);
      if (results_ != 1 || !dtype) {
        return false;
      }
      outs.push_back(wrap(result, *dtype));
      return true;
    }
    if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != static_cast<Py_ssize_t>(results_)) {
      return false;
    }
    for (size_t i = 0; i < results_; ++i) {
      PyObject* item = PyTuple_GET_ITEM(result, i);
      if (Py_TYPE(item) != reinterpret_cast<PyTypeObject*>(runtime->array)) {
        return false;
      }
      const auto dtype = dtype_of(item);
      if (!dtype) {
        return false;
      }
      outs.push_back(wrap(item, *dtype));
    }
    return true;
  }

  static py::object python(c10::TypeKind kind, const c10::IValue& value, Numbers numbers) {
    if (value.isNone()) {
      return py::none();
    }
    switch (kind) {
      case c10::TypeKind::TensorType:
        return value.isTensor() ? operand(value.toTensor(), numbers) : py::object();
      case c10::TypeKind::NumberType:
        return value.isScalar() ? number(value.toScalar(), numbers) : py::object();
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        return value.isInt() ? stolen(PyLong_FromLongLong(value.toInt())) : py::object();
      case c10::TypeKind::FloatType:
        return value.isDouble() ? stolen(PyFloat_FromDouble(value.toDouble())) : py::object();
      case c10::TypeKind::BoolType:
        return value.isBool() ? borrowed(value.toBool() ? Py_True : Py_False) : py::object();
      case c10::TypeKind::StringType:
        return value.isString() ? py::str(value.toStringRef()) : py::object();
      case c10::TypeKind::ListType:
        return list(value, numbers);
      default:  // element types, devices, memory formats, generators: Python has them as other objects
        return {};
    }
  }

  static py::object list(const c10::IValue& value, Numbers numbers) {
    py::list list;
    if (value.isTensorList()) {
      for (const at::Tensor& t : value.toTensorList()) {
        py::object array = operand(t, numbers);
        if (!array) {
          return {};
        }
        list.append(std::move(array));
      }
    } else if (value.isIntList()) {
      for (const int64_t n : value.toIntList()) {
        list.append(stolen(PyLong_FromLongLong(n)));
      }
    } else if (value.isBoolList()) {
      for (const bool b : value.toBoolList()) {
        list.append(borrowed(b ? Py_True : Py_False));
      }
    } else {
      return {};
    }
    return std::move(list);
  }

  PyObject* kernel_;   // over arrays of any type
  PyObject* float32_;  // what it comes to where all of them are float32; may be null. Neither is ever given back
  bool in_place_;
  size_t results_;
  c10::SafeKernelFunction usual_;
  std::vector<Field> fields_;
};

// A view operator, answered by what torch has for the CPU: it computes strides and reads no data.
class View final : public c10::OperatorKernel {
 public:
  explicit View(const c10::OperatorHandle& operation)
      : operation_(operation), kernel_(operation.getComputedKernelForDispatchKey(c10::DispatchKey::CPU)) {}

  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet keys, Stack* stack) const {
    kernel_.callBoxed(operation_, keys, stack);
  }

 private:
  c10::OperatorHandle operation_;
  c10::SafeKernelFunction kernel_;
};

// torch warns of a kernel registered in another's place, which is what is meant here.
class Quietly final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

template <typename Kernel>
void put(const c10::OperatorHandle& operation, std::unique_ptr<Kernel> kernel) {
  Quietly quietly;
  const c10::WarningUtils::WarningHandlerGuard guard(&quietly);
  const auto& name = operation.operator_name();
  const auto full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
  runtime->library->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
}

c10::OperatorHandle find(const std::string& name, const std::string& overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
}

void start(
    const py::object& local,
    const py::dict& below,
    const py::object& read,
    const py::dict& dtypes,
    const py::object& array,
    const py::object& drain,
    Py_ssize_t limit) {
  TORCH_CHECK(runtime == nullptr, "the native kernels have been started before");
  const auto kept = [](const py::object& object) { return object.inc_ref().ptr(); };
  const auto name = [](const char* text) { return checked(PyUnicode_InternFromString(text)).release().ptr(); };
  runtime = new Runtime{
      kept(local), kept(below), kept(read), kept(dtypes), kept(array), kept(drain), limit, name("_mx"),
      name("shape"), name("dtype"), name("adopted"), name("pending"),
      new torch::Library(torch::Library::IMPL, "aten", kDevice, __FILE__, __LINE__)};
}

void front(
    const std::string& name,
    const std::string& overload,
    const py::object& kernel,
    const py::object& float32,
    bool in_place) {
  const auto operation = find(name, overload);
  put(operation, std::make_unique<Front>(operation, kernel, float32, in_place));
}

void view(const std::string& name, const std::string& overload, const std::string& by) {
  put(find(name, overload), std::make_unique<View>(find(by, overload)));
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.doc() = "What stands before the Python kernels of device mlx; see tdev_core/accelerators/mlx/native.py.";
  module.def(
      "start", &start, py::arg("local"), py::arg("below"), py::arg("read"), py::arg("dtypes"), py::arg("array"),
      py::arg("drain"), py::arg("limit"));
  module.def(
      "front", &front, py::arg("name"), py::arg("overload"), py::arg("kernel"), py::arg("float32"),
      py::arg("in_place"));
  module.def("view", &view, py::arg("name"), py::arg("overload"), py::arg("by"));
  module.def("enable", [](bool on) { return std::exchange(enabled, on); }, py::arg("on"));
  module.def("answered", [] { return answered; });
}
