use std::fmt;

/// An error in words, with all its causes.
pub fn with_causes(e: &dyn std::error::Error) -> String {
    let mut text = e.to_string();
    let mut source = e.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// An error for a person: what happened to which thing, why, and what to do next.
///
/// ```
/// use gleaner_types::Problem;
/// let p = Problem::usage("topic.toml:3:1: unknown key `treshold`").hint("did you mean `threshold`?");
/// assert_eq!(p.to_string(), "topic.toml:3:1: unknown key `treshold`\n\nhint: did you mean `threshold`?");
/// assert_eq!(p.exit_code(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    what: String,
    cause: Option<String>,
    hint: Option<String>,
    kind: ProblemKind,
}

/// What sort of problem it is. Whoever has to branch on a problem branches on this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// Something failed.
    Failed,
    /// The user asked for something that makes no sense.
    Usage,
    /// There is no such thing, or nothing to do.
    Nothing,
}

impl Problem {
    /// Something failed (exit code 1).
    pub fn new(what: impl Into<String>) -> Problem {
        Problem { what: what.into(), cause: None, hint: None, kind: ProblemKind::Failed }
    }
    /// The user asked for something that makes no sense (exit code 2).
    pub fn usage(what: impl Into<String>) -> Problem {
        Problem { kind: ProblemKind::Usage, ..Problem::new(what) }
    }
    /// There is nothing to do (exit code 4).
    pub fn nothing(what: impl Into<String>) -> Problem {
        Problem { kind: ProblemKind::Nothing, ..Problem::new(what) }
    }
    /// Adds why it happened.
    pub fn because(mut self, cause: impl fmt::Display) -> Problem {
        self.cause = Some(cause.to_string());
        self
    }
    /// Adds what the user can do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }
    /// The same with its place (`topic.toml:3:1`) in front.
    pub fn at(mut self, place: impl fmt::Display) -> Problem {
        self.what = format!("{place}: {}", self.what);
        self
    }
    /// As `hint`, unless there is one already.
    pub fn or_hint(self, hint: &str) -> Problem {
        if self.hint.is_some() { self } else { self.hint(hint) }
    }
    /// Decides the exit code and the HTTP status.
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }
    /// What a command ends with.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            ProblemKind::Failed => 1,
            ProblemKind::Usage => 2,
            ProblemKind::Nothing => 4,
        }
    }
    /// The first line: what went wrong.
    pub fn what(&self) -> &str {
        &self.what
    }
    /// Why it happened.
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }
    /// What to do next.
    pub fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }
    /// A file or folder could not be read or written.
    pub fn io(doing: &str, path: &std::path::Path, e: &std::io::Error) -> Problem {
        let p = Problem::new(format!("cannot {doing} {}", path.display())).because(e);
        match e.kind() {
            std::io::ErrorKind::NotFound => p.hint("check the path; nothing is there under this name"),
            std::io::ErrorKind::PermissionDenied => p.hint("check who owns it and its permissions"),
            std::io::ErrorKind::StorageFull => {
                p.hint("free some space and run the same command again; nothing is lost")
            }
            std::io::ErrorKind::QuotaExceeded | std::io::ErrorKind::FileTooLarge => p.hint(
                "lift the limit (a disk quota, or `ulimit -f`) and run the same command again; nothing is \
                 lost",
            ),
            std::io::ErrorKind::ReadOnlyFilesystem => {
                p.hint("the disk is mounted read-only; choose another folder with --out")
            }
            _ => p,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(cause) = &self.cause {
            write!(f, "\n  because: {cause}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n\nhint: {hint}")?;
        }
        Ok(())
    }
}
impl std::error::Error for Problem {}
