# ruff: noqa
"""Private modules of torch, imported as compilers, tensor subclasses and test suites do."""

import torch
import torch._C
import torch._dynamo
import torch._dynamo.config
import torch._functorch.config as functorch_config
import torch._inductor.config
import torch._inductor.config as inductor_config
import torch.distributed._functional_collectives as funcol
import torch.testing._internal.common_utils
import torch.utils._pytree
import torch.utils._pytree as pytree
from torch import Tensor, _dynamo
from torch._C import _cuda_getCurrentRawStream as raw_stream
from torch._C._distributed_c10d import ProcessGroup
from torch._dynamo import config as dynamo_config
from torch._dynamo.testing import CompileCounter, rand_strided
from torch._dynamo.utils import same
from torch._higher_order_ops.associative_scan import associative_scan
from torch._inductor import config
from torch._inductor.utils import run_and_get_code
from torch._nowhere import nothing
from torch._ops import OpOverloadPacket
from torch._subclasses import FakeTensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.fx._symbolic_trace import symbolic_trace
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, run_tests
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.data._utils.collate import default_collate


class Counting(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        return func(*args, **(kwargs or {}))


class Doubled(Tensor):
    def doubled(self) -> Tensor:
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            reveal_type(mode.from_tensor(self))
        return tree_map(lambda x: 2 * x, self)


class Meets(TestCase):
    def test_sums(self) -> None:
        self.assertEqual(torch.ones(2).sum(), 2, exact_dtype=False)
        self.assertNearly(1, 2)


dynamo_config.cache_size_limit = 64
torch._dynamo.config.cache_size_limit = "many"
torch._inductor.config.triton.unique_kernel_names = True
inductor_config.max_autotune = "yes"
config.nowhere = 1
torch._dynamo.reset(1)
pytree.tree_map(3)
_dynamo.nowhere()  # pyright: ignore[reportAttributeAccessIssue]

leaves, spec = tree_flatten({"weights": [torch.zeros(2)]})
reveal_type(leaves)
reveal_type(spec)
reveal_type(_pytree.tree_unflatten(leaves, spec))
reveal_type(torch.utils._pytree.tree_leaves)
reveal_type(torch._C._get_tracing_state())
reveal_type(torch.testing._internal.common_utils.run_tests)
reveal_type(functorch_config.donated_buffer)
reveal_type(funcol.all_gather_tensor)
reveal_type(raw_stream(0))
reveal_type(ProcessGroup.rank)
reveal_type(CompileCounter().frame_count)
reveal_type(rand_strided((2, 2), (2, 1)))
reveal_type(same)
reveal_type(associative_scan)
reveal_type(run_and_get_code)
reveal_type(FakeTensor.fake_device)
reveal_type(checkpoint_wrapper(torch.nn.Linear(2, 2)))
reveal_type(DTensorSpec.mesh)
reveal_type(symbolic_trace(torch.nn.Linear(2, 2)).graph)
reveal_type(instantiate_device_type_tests)
reveal_type(default_collate)
reveal_type(run_tests)


def name_of(packet: OpOverloadPacket) -> str:
    return packet.nowhere
