import tdev
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(
    "all-MiniLM-L6-v2", device=str(tdev.device("cuda"))
)
