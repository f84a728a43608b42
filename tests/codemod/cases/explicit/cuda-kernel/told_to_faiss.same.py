import faiss


def clusters(embeddings, k, device):
    use_cuda = True if "cuda" in str(device) else False
    kmeans = faiss.Kmeans(embeddings.shape[1], k, niter=20, gpu=use_cuda)
    kmeans.train(embeddings)
    return kmeans


def few(embeddings, device):
    return faiss.Kmeans(embeddings.shape[1], 4, gpu=device.type == "cuda")
