//! The learners against scikit-learn, and WordNet against NLTK, on numbers made by
//! `tests/py/make_learn_vectors.py`.

#[path = "../../../tests/support/tools.rs"]
mod tools;

use gleaner_learn::SparseVec;
use gleaner_learn::bayes::Bayes;
use gleaner_learn::matrix::Matrix;
use gleaner_learn::platt::Platt;
use gleaner_learn::rng::Rng;
use gleaner_learn::smo::{Gram, Kernel, Params};
use gleaner_learn::svm::{Svm, left_out_values};
use gleaner_learn::wordnet::WordNet;
use gleaner_learn::{kmeans, xmeans};
use serde_json::Value;

fn load(text: &str) -> Value {
    serde_json::from_str(text).expect("our own file")
}
fn learn() -> Value {
    load(include_str!("data/learn.json"))
}
fn list(v: &Value) -> &[Value] {
    v.as_array().expect("a list")
}
fn number(v: &Value) -> f64 {
    v.as_f64().expect("a number")
}
fn numbers(v: &Value) -> Vec<f64> {
    list(v).iter().map(number).collect()
}
fn wholes(v: &Value) -> Vec<usize> {
    list(v).iter().map(|n| n.as_u64().expect("a whole number") as usize).collect()
}
fn vectors(v: &Value) -> Vec<SparseVec> {
    let row = |r: &Value| {
        numbers(r).into_iter().enumerate().filter(|e| e.1 != 0.0).map(|(i, x)| (i as u64 + 1, x)).collect()
    };
    list(v).iter().map(|r| SparseVec::new(row(r))).collect()
}
fn dense(v: &Value) -> Vec<Vec<f64>> {
    list(v).iter().map(numbers).collect()
}
#[track_caller]
fn close(a: f64, b: f64, within: f64, what: &str) {
    assert!((a - b).abs() <= within, "{what}: {a} is not {b}");
}

#[test]
fn naive_bayes() {
    for case in list(&learn()["bayes"]) {
        let document = |row: &Value| -> Vec<(u64, u32)> {
            numbers(row).iter().enumerate().map(|(i, n)| (i as u64, *n as u32)).filter(|e| e.1 > 0).collect()
        };
        let mut b = Bayes::new(case["classes"].as_u64().unwrap() as usize);
        for (row, class) in list(&case["x"]).iter().zip(wholes(&case["y"])) {
            b.add(class, document(row));
        }
        for (row, expected) in list(&case["test"]).iter().zip(list(&case["posteriors"])) {
            for (p, e) in b.posteriors(document(row)).iter().zip(numbers(expected)) {
                close(*p, e, 1e-10, "posterior");
            }
        }
    }
}

#[test]
fn support_vectors() {
    for case in list(&learn()["svm"]) {
        let kernel =
            if case["kernel"] == "rbf" { Kernel::Rbf(number(&case["gamma"])) } else { Kernel::Linear };
        let weights = numbers(&case["weights"]);
        let params = Params {
            weights: (weights[0], weights[1]),
            tolerance: 1e-6,
            ..Params::new(kernel, number(&case["c"]))
        };
        let (x, folds) = (vectors(&case["x"]), wholes(&case["folds"]));
        let y: Vec<bool> = wholes(&case["y"]).iter().map(|l| *l == 1).collect();
        let svm = Svm::train(&x, &y, &params, &folds);
        let support = case["support"].as_u64().unwrap() as usize;
        assert!(
            svm.support_vectors().abs_diff(support) <= 1,
            "{} support vectors, not {support}",
            svm.support_vectors()
        );
        for ((t, d), p) in
            vectors(&case["test"]).iter().zip(numbers(&case["decision"])).zip(numbers(&case["probability"]))
        {
            close(svm.decision(t), d, 2e-5 * (1.0 + d.abs()), "decision");
            close(svm.probability(t), p, 2e-4, "probability");
        }
        let left_out = left_out_values(&Gram::of(&Matrix::of(&x)), &y, &folds, &params);
        for (v, e) in left_out.iter().zip(numbers(&case["left_out"])) {
            close(*v, e, 5e-5 * (1.0 + e.abs()), "left-out decision");
        }
        let platt = Platt::fit(&numbers(&case["left_out"]), &y);
        close(platt.a, number(&case["a"]), 1e-3, "A");
        close(platt.b, number(&case["b"]), 1e-3, "B");
    }
}

#[test]
fn k_means() {
    for case in list(&learn()["kmeans"]) {
        let x = vectors(&case["x"]);
        let data = if dense(&case["x"])[0].len() == 1 {
            Matrix::of_values(&dense(&case["x"]).concat())
        } else {
            Matrix::of(&x)
        };
        let c = kmeans::from_centres(&data, dense(&case["start"]));
        assert_eq!(c.labels, wholes(&case["labels"]));
        close(c.inertia, number(&case["inertia"]), 1e-8, "inertia");
        for (a, b) in c.centres.concat().iter().zip(dense(&case["centres"]).concat()) {
            close(*a, b, 1e-9, "centre");
        }
    }
}

#[test]
fn x_means_finds_what_k_means_is_told() {
    let all = learn();
    let case = &all["clouds"];
    let data = Matrix::of(&vectors(&case["x"]));
    let expected = wholes(&case["labels"]);
    for seed in 0..5 {
        let c = xmeans::xmeans(&data, 1, 20, &mut Rng(seed));
        assert_eq!(c.centres.len() as u64, case["k"].as_u64().unwrap());
        close(c.inertia, number(&case["inertia"]), 1e-6, "inertia");
        // The same groups, whatever their numbers.
        for (i, a) in expected.iter().enumerate() {
            for (j, b) in expected.iter().enumerate() {
                assert_eq!(a == b, c.labels[i] == c.labels[j]);
            }
        }
    }
}

/// The database of Debian's wordnet-base; `None`, loudly, where it is not installed.
fn installed() -> Option<WordNet> {
    let folder = std::path::Path::new("/usr/share/wordnet");
    if !folder.join("data.noun").exists() {
        tools::missing("WordNet (Debian's package `wordnet-base`)");
        return None;
    }
    Some(WordNet::from_files(|name| std::fs::read(folder.join(name)).ok()).expect("Debian's WordNet"))
}

#[test]
fn wordnet_against_nltk() {
    let Some(net) = installed() else { return };
    assert_eq!((net.words(), net.synsets()), (147_306, 117_659));
    let expected = load(include_str!("data/wordnet.json"));
    for pair in list(&expected["pairs"]) {
        let (a, b) = (pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
        let found = net.relation(a, b).map(|r| (u64::from(r.path), u64::from(r.depth)));
        let theirs = pair[2].as_array().map(|p| (p[0].as_u64().unwrap(), p[1].as_u64().unwrap()));
        assert_eq!(found, theirs, "{a} and {b}");
    }
    for (word, known) in expected["words"].as_object().unwrap() {
        assert_eq!(net.lookup(word).len() as u64, known[0].as_u64().unwrap(), "senses of {word}");
        let theirs: Vec<&str> = list(&known[1]).iter().map(|s| s.as_str().unwrap()).collect();
        for s in net.synonyms(word) {
            assert!(theirs.contains(&s), "{s} is no synonym of {word}");
        }
        let mut all: Vec<&str> =
            net.lookup(word).into_iter().flat_map(|s| net.members(s).collect::<Vec<_>>()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, theirs, "words of the synsets of {word}");
    }
}
