//! Findings that recorded webs cannot confirm or refute, each with the reason.

use super::{Experiment, Finding};

pub(super) const GENERATED_TERMS: Experiment = Experiment {
    name: "generated-terms",
    claim: "terms generated from example pages beat the SVM",
    source: "Assis 2008, Tab. 5.4, 5.5",
    run: |_| {
        Ok(Finding::untestable(
            "Assis's terms are generated and then picked by people. Generate them with `gleaner terms`, put both into topic files and compare the judges with `gleaner experiment judges`.",
        ))
    },
};

pub(super) const EXPERT_TERMS: Experiment = Experiment {
    name: "expert-terms",
    claim: "generated terms picked by experts are best on all topics but one",
    source: "Assis 2008, Tab. 5.4, 5.5",
    run: |_| Ok(Finding::untestable("It is about people who pick terms; there are none in a recorded web.")),
};

pub(super) const SEED_QUERIES: Experiment = Experiment {
    name: "seed-queries",
    claim: "seeds from `unionFirst` queries raise efficiency by 53 %",
    source: "Siqueira et al., §2.1",
    run: |_| {
        Ok(Finding::untestable(
            "It depends on what a search engine of the live web answers; a recorded web has none of its results.",
        ))
    },
};

pub(super) const SHARED_DOMAINS: Experiment = Experiment {
    name: "shared-domains",
    claim: "agents find pages in domains the search engine also lists, beyond its own results (about 30 % of shared domains)",
    source: "Pappas et al. 2012, Fig. 4",
    run: |_| {
        Ok(Finding::untestable(
            "It compares a live crawl with a live search engine's results; a recorded web has none of them.",
        ))
    },
};
