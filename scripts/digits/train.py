"""What the demo runs inside the leased container: trains a digit classifier on /data/digits, writes /outputs.

Needs Python and numpy. With PyTorch and a GPU in the container it trains on the GPU, and says so.
"""

import csv
import gzip
import json
import pathlib

import numpy as np

DATA = pathlib.Path("/data/digits/digits.csv.gz")
OUTPUTS = pathlib.Path("/outputs")
EPOCHS, RATE, HIDDEN = 60, 0.5, 64


def load():
    """UCI handwritten digits: 1,797 images of 8 x 8, pixels 0..16, the label last; a seeded 75/25 split."""
    with gzip.open(DATA, "rt") as lines:
        table = np.array([[float(value) for value in row] for row in csv.reader(lines)])
    table = np.random.default_rng(7).permutation(table)
    pixels, labels = table[:, :-1] / 16, table[:, -1].astype(int)
    cut = len(table) * 3 // 4
    return pixels[:cut], labels[:cut], pixels[cut:], labels[cut:]


def backend():
    """The array library and a name for where it computes."""
    try:
        import torch
    except ImportError:
        return None, "cpu"
    if not torch.cuda.is_available():
        return None, "cpu"
    return torch, torch.cuda.get_device_name(0)


def train_numpy(x, y):
    """One hidden layer, full-batch descent with momentum; returns a function from pixels to labels."""
    rng = np.random.default_rng(11)
    w1, w2 = rng.normal(0, 0.15, (x.shape[1], HIDDEN)), rng.normal(0, 0.15, (HIDDEN, 10))
    v1, v2 = np.zeros_like(w1), np.zeros_like(w2)
    goal = np.eye(10)[y]
    for epoch in range(1, EPOCHS + 1):
        hidden = np.maximum(x @ w1, 0)
        scores = hidden @ w2
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        slope = (odds - goal) / len(x)
        g2, g1 = hidden.T @ slope, x.T @ ((slope @ w2.T) * (hidden > 0))
        v1, v2 = 0.9 * v1 - RATE * g1, 0.9 * v2 - RATE * g2
        w1, w2 = w1 + v1, w2 + v2
        if epoch % 10 == 0:
            loss = -np.log(odds[np.arange(len(y)), y] + 1e-12).mean()
            print(f"epoch {epoch:3d}  loss {loss:.4f}", flush=True)
    np.savez(OUTPUTS / "model.npz", w1=w1, w2=w2)
    return lambda pixels: (np.maximum(pixels @ w1, 0) @ w2).argmax(axis=1)


def train_torch(torch, x, y):
    """The same network on the GPU."""
    torch.manual_seed(11)
    model = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 10)
    ).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    pixels, labels = torch.tensor(x, dtype=torch.float32).cuda(), torch.tensor(y).cuda()
    for epoch in range(1, EPOCHS + 1):
        loss = torch.nn.functional.cross_entropy(model(pixels), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 10 == 0:
            print(f"epoch {epoch:3d}  loss {loss.item():.4f}", flush=True)
    torch.save(model.state_dict(), OUTPUTS / "model.pt")
    return lambda images: model(torch.tensor(images, dtype=torch.float32).cuda()).argmax(1).cpu().numpy()


def main():
    x, y, x_test, y_test = load()
    torch, device = backend()
    print(f"{len(x)} images to learn from, {len(x_test)} to be tested on, device: {device}", flush=True)
    predict = train_torch(torch, x, y) if torch else train_numpy(x, y)
    accuracy = float((predict(x_test) == y_test).mean())
    report = {"accuracy": accuracy, "device": device, "train": len(x), "test": len(x_test), "epochs": EPOCHS}
    (OUTPUTS / "report.json").write_text(json.dumps(report) + "\n")
    print(f"accuracy {accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
