// A TorchScript backend that runs a module's methods as they are: the smallest one that shows lowering.
#include <torch/csrc/jit/backends/backend.h>
#include <torch/csrc/jit/backends/backend_preprocess.h>
#include <torch/csrc/jit/api/module.h>

namespace {

class EchoBackend : public torch::jit::PyTorchBackendInterface {
 public:
  bool is_available() override { return true; }

  c10::impl::GenericDict compile(
      c10::IValue processed, c10::impl::GenericDict method_compile_spec) override {
    c10::impl::GenericDict handles(c10::StringType::get(), c10::AnyType::get());
    for (const auto& entry : method_compile_spec) {
      handles.insert(entry.key(), processed);
    }
    return handles;
  }

  c10::impl::GenericList execute(c10::IValue handle, c10::impl::GenericList inputs) override {
    auto module = handle.toModule();
    std::vector<c10::IValue> arguments(inputs.begin(), inputs.end());
    auto outputs = c10::List<at::Tensor>();
    outputs.emplace_back(module.get_method("forward")(arguments).toTensor());
    return c10::impl::toList(outputs);
  }
};

c10::IValue preprocess(
    const torch::jit::Module& module,
    const c10::Dict<c10::IValue, c10::IValue>& spec,
    const torch::jit::BackendDebugHandleGenerator& handles) {
  return module._ivalue();
}

const auto backend = torch::jit::backend<EchoBackend>("tdev_test_echo");
const auto step = torch::jit::backend_preprocess_register("tdev_test_echo", preprocess);

}  // namespace
