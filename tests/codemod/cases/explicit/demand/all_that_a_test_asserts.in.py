import torch


def test_a_gpu_is_here():
    print("looking")
    assert torch.cuda.is_available()


def test_two_are_here(self):
    self.assertTrue(torch.cuda.is_available())


def test_moved():
    assert torch.cuda.is_available()
    assert torch.ones(3).cuda().is_cuda
