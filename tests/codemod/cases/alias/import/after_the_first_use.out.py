import tdev  # noqa: F401 (lets .cuda() and .to("cuda") run anywhere)
from pase.models.frontend import wf_builder

pase = wf_builder("cfg/frontend/PASE+.cfg").eval()
pase.load_pretrained("FE_e199.ckpt", load_last=True, verbose=True)
pase.cuda()

import torch

x = torch.randn(1, 1, 100000).cuda()
print(pase(x).size())
