import torch

config = {"backend": "cuda", "cuda": {"n": 1}, "path": "/data/cuda/m.pt"}
names = ["cuda", "cpu"]
print("cuda is great", config["cuda"])
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
torch.save({"device": "cuda"}, "/tmp/cuda.pt")
model = Model(name="cuda")
logger.info("using %s", "cuda")
