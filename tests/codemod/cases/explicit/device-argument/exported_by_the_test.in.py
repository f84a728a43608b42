import torch
from pkg.export import export_stages


def test_stages(model, tmp_path):
    artifacts = export_stages(model, str(tmp_path))
    for artifact in artifacts:
        stage = torch.jit.load(artifact.path)
        assert stage is not None


def test_of_another(artifacts):
    assert torch.jit.load(artifacts[0]) is not None
