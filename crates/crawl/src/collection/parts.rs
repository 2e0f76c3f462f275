//! Judge and strategy of a topic, with what they are made from: example pages, a taxonomy, counts of words.

use crate::analyse::Analyst;
use crate::config::LoadedConfig;
use crate::crawl::Run;
use crate::documents::Documents;
use fetch::Http;
use focus::judges::{Example, ExampleKind, Judge, JudgeSetup};
use focus::strategies::{Strategy, StrategySetup};
use focus::text::{Doc, DocFreq};
use focus::topic::{IdfSource, Topic};
use focus::{judges, strategies};
use std::fs;
use std::path::Path;
use std::sync::{Arc, RwLock};
use types::{Canon, Fetched, Millis, Payload, Problem, Request, Url, Web};

/// The thinking parts of a crawl, made from a topic.
pub struct TopicParts {
    /// Reads and assesses answers.
    pub analyst: Analyst,
    /// Orders the frontier.
    pub strategy: Box<dyn Strategy>,
    /// Makes the judge again, as it was before it saw any page.
    pub make_judge: MakeJudge,
}

/// Makes a judge as it is before it has seen a page.
pub type MakeJudge = Box<dyn Fn() -> Result<Box<dyn Judge>, Problem> + Send>;

impl TopicParts {
    /// `answer` brings example pages: from the live web, or from a recorded one.
    pub fn new(
        topic: &Topic,
        canon: &Canon,
        answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
        seeds: usize,
        rng: u64,
    ) -> Result<TopicParts, Problem> {
        let extract = Arc::new(extract::Options { canon: canon.clone(), ..extract::Options::default() });
        let text = Arc::new(topic.text.options);
        let idf = background(topic)?;
        let examples = examples(topic, &extract, answer)?;
        let taxonomy = crate::resources::taxonomy(topic, &extract)?;
        let wordnet = crate::resources::wordnet(topic)?;
        let taught = |path: &Option<String>| path.as_deref().map(crate::resources::model).transpose();
        let (judge_model, strategy_model) = (taught(&topic.judge.model)?, taught(&topic.strategy.model)?);
        let strategy = strategies::build(&StrategySetup {
            topic,
            options: &topic.strategy.options,
            rng,
            idf: idf.as_ref(),
            examples: &examples,
            wordnet: wordnet.as_ref(),
            model: strategy_model.as_ref(),
        })?;
        let topic = topic.clone();
        let make_judge: MakeJudge = Box::new(move || {
            judges::build(&JudgeSetup {
                topic: &topic,
                options: &topic.judge.options,
                idf: idf.as_ref(),
                examples: &examples,
                seeds,
                rng,
                taxonomy: &taxonomy,
                model: judge_model.as_ref(),
            })
        });
        let judge: Arc<RwLock<Box<dyn Judge>>> = Arc::new(RwLock::new(make_judge()?));
        let parts = strategy.wants().doc;
        let documents = Documents::usual().clone();
        let analyst = Analyst { extract, text, judge, parts, documents, rendering: None };
        Ok(TopicParts { analyst, strategy, make_judge })
    }

    /// With a strategy that is not in the list.
    pub fn with_strategy(self, strategy: Box<dyn Strategy>) -> TopicParts {
        TopicParts { strategy, ..self }
    }

    /// With a judge that is not in the list.
    pub fn with_judge<J: Judge + 'static>(mut self, make: impl Fn() -> J + Send + 'static) -> TopicParts {
        self.analyst.judge = Arc::new(RwLock::new(Box::new(make())));
        self.make_judge = Box::new(move || Ok(Box::new(make())));
        self
    }
}

/// The settings with the judge of the last run, when they name none and it was another than today's default.
pub(crate) fn earlier_judge(
    loaded: &LoadedConfig,
    ledger: &(impl store::Records + ?Sized),
) -> Result<Option<LoadedConfig>, Problem> {
    let last =
        Run::of(ledger)?.filter(|run| loaded.config.judge.kind.is_none() && run.judge != judges::DEFAULT);
    Ok(last.map(|run| {
        let mut kept = loaded.clone();
        kept.config.judge.kind = Some(run.judge);
        kept
    }))
}

/// What a judge is trained on, read.
pub struct TrainingMaterial {
    /// Example pages of the topic, fetched and read.
    pub examples: Vec<Example>,
    /// Pages of the topic tree, with the class of each.
    pub taxonomy: Vec<focus::judges::TaxonomyPage>,
    /// How many documents have each word, from the topic's file; `None` when it names none.
    pub idf: Option<DocFreq>,
}

impl TrainingMaterial {
    /// Fetches and reads what the topic names. `answer` brings pages: from the live web, or from a recorded
    /// one.
    pub fn read(
        topic: &Topic,
        canon: &Canon,
        answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
    ) -> Result<TrainingMaterial, Problem> {
        let extract = extract::Options { canon: canon.clone(), ..extract::Options::default() };
        Ok(TrainingMaterial {
            examples: examples(topic, &extract, answer)?,
            taxonomy: crate::resources::taxonomy(topic, &extract)?,
            idf: background(topic)?,
        })
    }
    /// What the judge of this topic is made from.
    pub fn setup<'a>(&'a self, topic: &'a Topic, rng: u64) -> JudgeSetup<'a> {
        JudgeSetup {
            idf: self.idf.as_ref(),
            examples: &self.examples,
            taxonomy: &self.taxonomy,
            rng,
            ..JudgeSetup::new(topic)
        }
    }
}

/// The background collection that `[text] idf` names.
pub(super) fn background(topic: &Topic) -> Result<Option<DocFreq>, Problem> {
    let IdfSource::File(path) = &topic.text.idf else { return Ok(None) };
    let path = Path::new(path);
    let text = fs::read_to_string(path).map_err(|e| Problem::io("read the idf file", path, &e))?;
    DocFreq::from_text(&text, &topic.text.options).map(Some)
}

/// The topic's example pages, read.
pub(super) fn examples(
    topic: &Topic,
    options: &extract::Options,
    answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
) -> Result<Vec<Example>, Problem> {
    let e = &topic.examples;
    let lists = [
        (&e.relevant, ExampleKind::Relevant),
        (&e.irrelevant, ExampleKind::Irrelevant),
        (&e.genre, ExampleKind::Genre),
    ];
    let mut out = Vec::new();
    for (list, kind) in lists {
        for name in list {
            let fetched = example(name, &options.canon, answer)?;
            let page = match &fetched.payload {
                Payload::Page(page) => page.clone(),
                payload => {
                    let content_type = fetched.header("content-type");
                    let documents = Documents::usual();
                    let page = documents.read(&fetched.url, content_type, None, payload.decoded(), options);
                    Arc::new(page.map_err(|e| {
                        Problem::new(format!("the example page {name} cannot be read"))
                            .because(e)
                            .hint("take it out of [examples]")
                    })?)
                }
            };
            out.push(Example { doc: Arc::new(Doc::new(page, &topic.text.options)), kind });
        }
    }
    Ok(out)
}

pub(super) fn example(
    name: &str,
    canon: &Canon,
    answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
) -> Result<Fetched, Problem> {
    let path = Path::new(name);
    if !name.contains("://") && path.is_file() {
        let bytes = fs::read(path).map_err(|e| Problem::io("read the example page", path, &e))?;
        let url = canon.parse("http://localhost/example").map_err(|e| Problem::new(e.to_string()))?;
        let mut fetched = Fetched::empty(url, Millis(0));
        fetched.status = 200;
        fetched.payload = Payload::plain(bytes);
        return Ok(fetched);
    }
    // Nobody means a host by `/tmp/page.html` or `./page`.
    if ["/", "./", "../", "~"].iter().any(|start| name.starts_with(start)) {
        return Err(Problem::usage(format!("[examples] there is no file {name}"))
            .hint("check the path; a URL begins with http:// or https://"));
    }
    let mut url = canon
        .parse_typed(name)
        .map_err(|e| Problem::usage(format!("[examples] `{name}` is neither a file nor a URL")).because(e))?;
    for _ in 0..8 {
        let fetched = answer(&url)?;
        match fetched.location.as_deref().filter(|_| fetched.is_redirect()).map(|l| canon.join(&url, l)) {
            Some(Ok(target)) => url = target,
            _ if fetched.status == 200 => return Ok(fetched),
            _ => {
                let why = fetched.failure.map_or(format!("status {}", fetched.status), |f| f.to_string());
                return Err(Problem::new(format!("the example page {name} cannot be had"))
                    .because(why)
                    .hint("take it out of [examples], or save it and name the file"));
            }
        }
    }
    Err(Problem::new(format!("the example page {name} redirects without end")))
}

/// A name or address that is not on the public internet.
pub(super) fn is_local(host: &str) -> bool {
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    literal.map_or_else(|_| fetch::guard::is_local_name(host), |ip| !fetch::guard::is_public(ip))
}

/// Asks the live web, waiting for the answer.
pub fn live_answer(web: &Http) -> impl Fn(&Url) -> Result<Fetched, Problem> + '_ {
    |url| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| Problem::new("cannot start the network").because(e))?;
        Ok(runtime.block_on(web.fetch(&Request::page(url.clone()))))
    }
}
