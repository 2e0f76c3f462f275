"""Prints the numbers that crates/learn/tests/vectors.rs checks against: small data sets and what scikit-learn
(and, for WordNet, NLTK over Debian's wordnet-base) makes of them.

    python -m venv venv && venv/bin/pip install scikit-learn nltk
    venv/bin/python tests/py/make_learn_vectors.py crates/learn/tests/data

Writes learn.json and wordnet.json there. Made with the versions named in the files; run again only to change the data.
"""

import json
import os
import shutil
import sys
import tempfile
import warnings

import numpy as np
import sklearn
from sklearn.calibration import _sigmoid_calibration
from sklearn.cluster import KMeans
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import SVC

warnings.simplefilter("error", RuntimeWarning)


def short(x, digits=12):
    """Floats as lists that JSON keeps small."""
    return np.round(np.asarray(x, dtype=float), digits).tolist()


def bayes(rng):
    out = []
    for classes, documents, words in ((2, 12, 8), (5, 40, 20), (12, 60, 30)):
        x = rng.poisson(0.8, size=(documents, words))
        y = np.concatenate([np.arange(classes), rng.integers(0, classes, documents - classes)])
        # scikit-learn's vocabulary is every column: each word must occur at least once.
        x[0] += x.sum(axis=0) == 0
        test = rng.poisson(1.0, size=(6, words))
        model = MultinomialNB(alpha=1.0).fit(x, y)
        out.append({
            "classes": classes, "x": x.tolist(), "y": y.tolist(), "test": test.tolist(),
            "posteriors": short(model.predict_proba(test), 14),
        })
    return out


def svm(rng):
    out = []
    for kernel, gamma, c, weights in (("rbf", 0.7, 2.0, (1, 1)), ("rbf", 3.0, 10.0, (2, 1)), ("linear", 0, 0.5, (1, 1)), ("rbf", 0.1, 100.0, (1, 3))):
        x = np.round(rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.7), 6)
        y = (x[:, 0] * x[:, 1] + x[:, 2] + 0.3 * rng.normal(size=60) > 0).astype(int)
        test = np.round(rng.normal(size=(10, 4)), 6)
        folds = np.arange(60) % 5
        args = dict(kernel=kernel, C=c, tol=1e-6, class_weight={1: weights[0], 0: weights[1]})
        if kernel == "rbf":
            args["gamma"] = gamma
        model = SVC(**args).fit(x, y)
        left_out = np.zeros(60)
        for f in range(5):
            part = SVC(**args).fit(x[folds != f], y[folds != f])
            left_out[folds == f] = part.decision_function(x[folds == f])
        a, b = _sigmoid_calibration(left_out, y)
        decision = model.decision_function(test)
        out.append({
            "kernel": kernel, "gamma": gamma, "c": c, "weights": weights, "x": x.tolist(), "y": y.tolist(),
            "folds": folds.tolist(), "test": test.tolist(), "decision": short(decision, 9), "left_out": short(left_out, 9),
            "a": float(a), "b": float(b), "probability": short(1 / (1 + np.exp(a * decision + b)), 9),
            "support": int(model.n_support_.sum()),
        })
    return out


def kmeans(rng):
    out = []
    for n, d, k in ((40, 2, 3), (80, 6, 5), (30, 1, 2)):
        x = np.round(rng.normal(size=(n, d)) + 3 * rng.integers(0, k, size=(n, 1)), 6)
        start = x[:k]
        model = KMeans(n_clusters=k, init=start, n_init=1, tol=0, algorithm="lloyd", max_iter=300).fit(x)
        out.append({
            "x": x.tolist(), "start": start.tolist(), "labels": model.labels_.tolist(), "inertia": float(model.inertia_),
            "centres": short(model.cluster_centers_),
        })
    # A start in which a cluster is empty.
    x = np.array([[1.0], [2.0], [9.0], [10.0]])
    start = np.array([[0.0], [-5.0]])
    model = KMeans(n_clusters=2, init=start, n_init=1, tol=0).fit(x)
    out.append({
        "x": x.tolist(), "start": start.tolist(), "labels": model.labels_.tolist(), "inertia": float(model.inertia_),
        "centres": short(model.cluster_centers_),
    })
    return out


def clouds(rng):
    """Well separated clouds: K-means told the number; X-means must find it."""
    centres = np.array([[0, 0, 0], [25, 0, 5], [0, 25, -5], [25, 25, 10], [50, 10, 0], [-25, 5, 20]])
    x = np.round(np.concatenate([c + rng.normal(size=(25, 3)) for c in centres]), 6)
    x = x[rng.permutation(len(x))]
    model = KMeans(n_clusters=len(centres), n_init=20, random_state=1).fit(x)
    return {"x": x.tolist(), "k": len(centres), "labels": model.labels_.tolist(), "inertia": float(model.inertia_)}


LEXNAMES = 45
PAIRS = """dog cat|car automobile|king queen|database file|sql database|course lecture|syllabus course|professor teacher
|student pupil|run walk|running jogs|geese duck|mice rat|buy purchase|teach learn|good bad|quickly fast|algebra mathematics
|relational_database database|computer machine|university school|grade mark|homework assignment|exam test|books library
|restrain inhibit|einstein physicist|paris city|entity thing|dog dog|xyzzy dog|red blue|be have|women men
|planner optimizer|index table|transaction exchange|network graph|science art"""


def wordnet():
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):
        def map_wn(self, version="wordnet"):
            """Other editions and languages are not there and not needed."""

    source = "/usr/share/wordnet"
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(source):
            if os.path.isfile(os.path.join(source, name)):
                shutil.copy(os.path.join(source, name), folder)
        # Debian leaves this list of names out; the reader wants as many lines as there are lexicographer files.
        with open(os.path.join(folder, "lexnames"), "w") as f:
            for i in range(LEXNAMES):
                f.write(f"{i:02d}\tname{i}\t1\n")
        # NLTK reads only from folders it was told of.
        nltk.data.path.append(folder)
        reader = Reader(folder, None)
        pairs = []
        for pair in PAIRS.replace("\n", "").split("|"):
            a, b = pair.split()
            best = None
            for s in senses(reader, a):
                above_s = above(s)
                for t in senses(reader, b):
                    above_t = above(t)
                    for common in set(above_s) & set(above_t):
                        key = (above_s[common] + above_t[common], -depth(common))
                        if best is None or key < best:
                            best = key
                    # NLTK's own shortest path must agree with the closures.
                    d = s.shortest_path_distance(t, simulate_root=False)
                    own = min((above_s[c] + above_t[c] for c in set(above_s) & set(above_t)), default=None)
                    assert d == own, (s, t, d, own)
            pairs.append([a.replace("_", " "), b.replace("_", " "), None if best is None else [best[0], -best[1]]])
        words = sorted({w for p in pairs for w in p[:2]})
        synonyms = {}
        for w in words:
            names = {l.replace("_", " ").lower() for s in senses(reader, w.replace(" ", "_")) for l in s.lemma_names()}
            synonyms[w] = [len(senses(reader, w.replace(" ", "_"))), sorted(names)]
        return {"pairs": pairs, "words": synonyms}


def senses(reader, word):
    """All synsets of all base forms: NLTK's morphy gives one form per part of speech, WordNet's gives all."""
    out = []
    for pos in "nvar":
        for form in reader._morphy(word, pos):
            for s in reader.synsets(form, pos):
                if form in [l.lower() for l in s.lemma_names()] and s not in out:
                    out.append(s)
    return out


def above(synset):
    return {s: d for s, d in reversed(sorted(synset.hypernym_distances(), key=lambda e: e[1]))}


def depth(synset):
    """Steps to the nearest root, walking level by level: two verbs of WordNet 3.0 are each other's hypernym."""
    level, seen, steps = {synset}, set(), 0
    while level:
        if any(not s.hypernyms() + s.instance_hypernyms() for s in level):
            return steps
        seen |= level
        level = {h for s in level for h in s.hypernyms() + s.instance_hypernyms()} - seen
        steps += 1
    return 0


def main(folder):
    rng = np.random.default_rng(20260101)
    learn = {
        "made_with": f"scikit-learn {sklearn.__version__}",
        "bayes": bayes(rng), "svm": svm(rng), "kmeans": kmeans(rng), "clouds": clouds(rng),
    }
    with open(os.path.join(folder, "learn.json"), "w") as f:
        json.dump(learn, f, separators=(",", ":"))
        f.write("\n")
    import nltk

    with open(os.path.join(folder, "wordnet.json"), "w") as f:
        json.dump({"made_with": f"NLTK {nltk.__version__}, WordNet 3.0", **wordnet()}, f, separators=(",", ":"))
        f.write("\n")


main(sys.argv[1])
