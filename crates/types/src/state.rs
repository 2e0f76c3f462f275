//! The pieces of state that a collection keeps beside its URLs and pages.

/// Names one piece of state. What its bytes mean is known to whoever writes it; a format that two crates
/// know is in `store::formats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateKey {
    /// What the strategy learned.
    Strategy,
    /// Which strategy and judge made the state that is kept.
    Run,
    /// The last run: when it began, what the command line asked, how it ended.
    Session,
    /// What the judge learned.
    Judge,
    /// Running totals of requests, errors and refusals.
    Counts,
    /// One line per fetched page: its score, its verdict, its digest.
    Pages,
    /// What pages were measured by, for judges that measure again.
    Features,
    /// The thresholds that the judge chose, with its reasons.
    Thresholds,
    /// What was changed while a crawl ran.
    Control,
    /// Is a collection being judged again?
    Rejudging,
    /// What people and models said of pages.
    Labels,
    /// The labels that the strategy was told of.
    LabelsTold,
    /// Verdicts that changed and that the strategy was not told of.
    VerdictsUntold,
    /// Answers to the judge's questions, in the order they were given.
    Answers,
    /// What sitemaps and feeds have cost.
    Listings,
    /// What the language model has cost.
    Teacher,
    /// What the language model answered.
    TeacherAnswers,
    /// When and why fetches failed.
    Failures,
    /// What was removed, by whom and why: it must not come back.
    Removed,
    /// What came of visiting pages again.
    Visits,
    /// When the refresh began that has not ended.
    Refresh,
    /// How a watch stands: the round that runs, the last one, when the next is due.
    Watch,
    /// Known pages whose later visits brought new relevant ones.
    Finds,
    /// Pages whose bytes are not in the archive.
    Unarchived,
    /// Pages that were being read when a run died.
    Crashes,
    /// How far the archive was written.
    Archive,
    /// The secret of the archive's record ids.
    ArchiveKey,
    /// How many pages the search index has.
    Indexed,
    /// What came of showing pages in a browser.
    Rendered,
    /// What a worker of a shared crawl means to fetch next.
    Next,
}

/// Whose piece of state a reader of a shared crawl is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The crawl has it: it is what all commands add up to.
    Crawl,
    /// Every worker has its own, and the reader adds them up.
    EveryWorker,
    /// Every worker has its own, and that of the most experienced one is shown.
    OneWorker,
}

impl StateKey {
    /// The name in a ledger or a database.
    pub fn name(self) -> &'static str {
        match self {
            StateKey::Strategy => "strategy",
            StateKey::Run => "run",
            StateKey::Session => "session",
            StateKey::Judge => "judge",
            StateKey::Counts => "counts",
            StateKey::Pages => "pages",
            StateKey::Features => "features",
            StateKey::Thresholds => "thresholds",
            StateKey::Control => "control",
            StateKey::Rejudging => "rejudging",
            StateKey::Labels => "labels",
            StateKey::LabelsTold => "labels-told",
            StateKey::VerdictsUntold => "verdicts-untold",
            StateKey::Answers => "answers",
            StateKey::Listings => "listings",
            StateKey::Teacher => "teacher",
            StateKey::TeacherAnswers => "teacher-answers",
            StateKey::Failures => "failures",
            StateKey::Removed => "removed",
            StateKey::Visits => "visits",
            StateKey::Refresh => "refresh",
            StateKey::Watch => "watch",
            StateKey::Finds => "finds",
            StateKey::Unarchived => "unarchived",
            StateKey::Crashes => "crashes",
            StateKey::Archive => "archive",
            StateKey::ArchiveKey => "archive-key",
            StateKey::Indexed => "indexed",
            StateKey::Rendered => "rendered",
            StateKey::Next => "next",
        }
    }

    /// Who has this piece of state in a shared crawl.
    pub fn holder(self) -> Holder {
        match self {
            StateKey::Control | StateKey::Labels | StateKey::Teacher | StateKey::Removed => Holder::Crawl,
            StateKey::Counts
            | StateKey::Session
            | StateKey::Failures
            | StateKey::Visits
            | StateKey::Watch
            | StateKey::Rendered => Holder::EveryWorker,
            _ => Holder::OneWorker,
        }
    }
}
