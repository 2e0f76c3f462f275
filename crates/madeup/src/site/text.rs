//! Believable text from a seed: the same seed gives the same words on every machine.

use super::words::*;

/// Chance for one page.
pub struct Rng(learn::rng::Rng);

impl Rng {
    /// A generator of its own for each name, so that one page's text does not depend on how many others there
    /// are.
    pub fn named(seed: u64, name: &str) -> Rng {
        // FNV-1a; std's hasher is not promised to stay the same between versions.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        Rng(learn::rng::Rng(learn::rng::Rng(seed ^ hash).draw()))
    }
    pub fn next(&mut self) -> u64 {
        self.0.draw()
    }
    /// A number below `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }
    pub fn pick<T: Copy + Default>(&mut self, of: &[T]) -> T {
        of.get(self.below(of.len())).copied().unwrap_or_default()
    }
    pub fn shuffle<T>(&mut self, of: &mut [T]) {
        self.0.shuffle(of);
    }
    pub fn person(&mut self) -> String {
        format!("{} {}", self.pick(FIRST), self.pick(LAST))
    }
}

/// What kind of page it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Genre {
    Syllabus,
    CourseHome,
    Assignment,
    CourseFaq,
    Faculty,
    News,
    Job,
    Product,
    Paper,
    Blog,
    Doc,
    Campus,
    Hobby,
    /// A list of links: course lists, departments, archives.
    Hub,
}

/// A part of a page's main text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Heading(String),
    Paragraph(String),
    Items(Vec<String>),
}

/// What a page says; everything its text depends on.
#[derive(Clone, Copy, Debug)]
pub struct Subjects<'a> {
    pub genre: Genre,
    /// Index into [`SUBJECTS`], or into a language's three courses.
    pub subject: usize,
    /// Index into [`LANGUAGES`]; `None` is English.
    pub language: Option<usize>,
    pub institution: &'a str,
}

/// The main text of a page.
pub fn write(what: Subjects<'_>, rng: &mut Rng) -> Vec<Part> {
    if let Some(language) = what.language.and_then(|l| LANGUAGES.get(l)) {
        return foreign(language, what, rng);
    }
    let Some(subject) = SUBJECTS.get(what.subject) else { return Vec::new() };
    let mut w = Writer {
        terms: deal(subject.terms, rng),
        at: 0,
        name: subject.name,
        institution: what.institution,
        rng,
    };
    match what.genre {
        Genre::Syllabus => w.syllabus(subject),
        Genre::CourseHome => w.paragraphs(COURSE_HOME, 3, 2),
        Genre::Assignment => w.paragraphs(ASSIGNMENT, 3, 2),
        Genre::CourseFaq => w.paragraphs(COURSE_FAQ, 4, 1),
        Genre::Faculty => w.paragraphs(FACULTY, 2, 2),
        Genre::News => w.paragraphs(NEWS, 4, 2),
        Genre::Job => w.paragraphs(JOB, 4, 2),
        Genre::Product => w.paragraphs(PRODUCT, 3, 2),
        Genre::Paper => w.paragraphs(PAPER, 4, 2),
        Genre::Blog => w.paragraphs(BLOG, 3, 2),
        Genre::Doc => w.paragraphs(DOC, 4, 2),
        Genre::Campus => w.paragraphs(CAMPUS, 2, 2),
        Genre::Hobby => w.paragraphs(HOBBY, 2, 2),
        Genre::Hub => w.paragraphs(LISTING, 1, 2),
    }
}

fn deal<'t>(terms: &'t [&'t str], rng: &mut Rng) -> Vec<&'t str> {
    let mut terms = terms.to_vec();
    rng.shuffle(&mut terms);
    terms
}

fn foreign(language: &Language, what: Subjects<'_>, rng: &mut Rng) -> Vec<Part> {
    let terms = language.terms.get(what.subject).copied().unwrap_or(&[]);
    let bilingual = rng.below(2) == 0;
    let mut w = Writer { terms: deal(terms, rng), at: 0, name: "", institution: what.institution, rng };
    if what.genre != Genre::Syllabus {
        return w.paragraphs(language.filler, 1, 2);
    }
    let mut parts: Vec<Part> = language.paragraphs.iter().map(|t| Part::Paragraph(w.fill(t))).collect();
    if bilingual {
        // The language's three courses are these subjects.
        let subject = SUBJECTS.get([DATABASES, 3, 1].get(what.subject).copied().unwrap_or(0));
        w.terms = deal(subject.map_or(&[], |s| s.terms), w.rng);
        w.at = 0;
        parts.extend(BILINGUAL.iter().map(|t| Part::Paragraph(w.fill(t))));
    }
    parts
}

struct Writer<'a> {
    terms: Vec<&'a str>,
    /// Next term to use: terms go round, so that a long page covers most of its subject.
    at: usize,
    name: &'a str,
    institution: &'a str,
    rng: &'a mut Rng,
}

impl Writer<'_> {
    /// `count` paragraphs of `each` sentences, no template twice in a row.
    fn paragraphs(&mut self, templates: &[&str], count: usize, each: usize) -> Vec<Part> {
        let mut order: Vec<&str> = Vec::new();
        let mut out = Vec::new();
        for _ in 0..count {
            let mut text = String::new();
            for _ in 0..each {
                if order.is_empty() {
                    order = deal(templates, self.rng);
                }
                if let Some(template) = order.pop() {
                    if !text.is_empty() {
                        text.push(' ');
                    }
                    text.push_str(&self.fill(template));
                }
            }
            out.push(Part::Paragraph(text));
        }
        out
    }

    fn syllabus(&mut self, subject: &Subject) -> Vec<Part> {
        let mut out = vec![Part::Heading("Syllabus".into())];
        let intro = deal(SYLLABUS_INTRO, self.rng);
        let intro: Vec<String> = intro.iter().take(2).map(|t| self.fill(t)).collect();
        out.push(Part::Paragraph(intro.join(" ")));
        out.push(Part::Heading("Staff".into()));
        let staff = self.rng.pick(SYLLABUS_STAFF);
        out.push(Part::Paragraph(self.fill(staff)));
        let prerequisites = self.rng.pick(SYLLABUS_PREREQUISITES);
        out.push(Part::Paragraph(self.fill(prerequisites)));
        let (book, author, year) =
            (self.rng.pick(subject.books), self.rng.person(), 1998 + self.rng.below(27));
        out.push(Part::Paragraph(format!("Textbook: {author}, {book}, {year}. Copies are on reserve.")));
        out.push(Part::Heading("Tentative schedule".into()));
        let weeks = 8 + self.rng.below(4);
        let mut items = Vec::new();
        for week in 1..=weeks {
            let template = self.rng.pick(SYLLABUS_TOPIC);
            let what = if week == weeks / 2 { "Midterm.".to_string() } else { self.fill(template) };
            items.push(format!("Week {week}: {}", upper_first(&what)));
        }
        out.push(Part::Items(items));
        out.push(Part::Heading("Grading and policies".into()));
        let grading = self.rng.pick(SYLLABUS_GRADING);
        out.push(Part::Paragraph(self.fill(grading)));
        let policies = deal(SYLLABUS_POLICY, self.rng);
        let policies: Vec<String> = policies.iter().take(2).map(|t| self.fill(t)).collect();
        out.push(Part::Paragraph(policies.join(" ")));
        out
    }

    fn fill(&mut self, template: &str) -> String {
        let mut out = String::with_capacity(template.len() + 40);
        let mut rest = template;
        let start = self.at;
        while let Some(open) = rest.find('{') {
            let (before, tail) = rest.split_at(open);
            out.push_str(before);
            let mut chars = tail.chars();
            chars.next();
            let slot = chars.next().unwrap_or('?');
            rest = chars.as_str().strip_prefix('}').unwrap_or(chars.as_str());
            match slot {
                'a'..='d' => {
                    let i = start + (slot as usize - 'a' as usize);
                    self.at = self.at.max(i + 1);
                    out.push_str(self.terms.get(i % self.terms.len().max(1)).copied().unwrap_or("things"));
                }
                'n' => out.push_str(self.name),
                'p' | 'q' => out.push_str(&self.rng.person()),
                'u' => out.push_str(self.institution),
                'y' => out.push_str(&(1985 + self.rng.below(40)).to_string()),
                'k' => out.push_str(&(2 + self.rng.below(7)).to_string()),
                'w' => out.push_str(self.rng.pick(DAYS)),
                'h' => out.push_str(&(9 + self.rng.below(8)).to_string()),
                _ => {}
            }
        }
        out.push_str(rest);
        upper_first(&out)
    }
}

pub fn upper_first(s: &str) -> String {
    let mut chars = s.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[Genre] = &[
        Genre::Syllabus,
        Genre::CourseHome,
        Genre::Assignment,
        Genre::CourseFaq,
        Genre::Faculty,
        Genre::News,
        Genre::Job,
        Genre::Product,
        Genre::Paper,
        Genre::Blog,
        Genre::Doc,
        Genre::Campus,
        Genre::Hobby,
        Genre::Hub,
    ];

    fn text(genre: Genre, subject: usize, language: Option<usize>, seed: u64) -> String {
        let what = Subjects { genre, subject, language, institution: "Northfield University" };
        format!("{:?}", write(what, &mut Rng(learn::rng::Rng(seed))))
    }

    #[test]
    fn every_template_is_filled_and_repeats_itself() {
        for &genre in ALL {
            for subject in 0..SUBJECTS.len() {
                let t = text(genre, subject, None, 7);
                assert!(t.len() > 100, "{genre:?} {subject}: {t}");
                assert!(!t.contains('{') || !t.contains('}'), "{genre:?} {subject}: {t}");
                assert_eq!(t, text(genre, subject, None, 7));
                assert!(
                    (8..20).any(|seed| text(genre, subject, None, seed) != t),
                    "{genre:?}: the seed matters"
                );
            }
        }
        for language in 0..LANGUAGES.len() {
            for subject in 0..3 {
                let t = text(Genre::Syllabus, subject, Some(language), 7);
                assert!(t.len() > 200 && !t.contains('{'), "{t}");
            }
        }
    }

    #[test]
    fn a_syllabus_names_its_subject_and_its_genre() {
        for seed in 0..20 {
            let t = text(Genre::Syllabus, DATABASES, None, seed).to_lowercase();
            let terms = SUBJECTS[DATABASES].terms.iter().filter(|x| t.contains(&x.to_lowercase())).count();
            assert!(terms >= 10, "{terms} of 14 terms: {t}");
            for word in
                ["syllabus", "office hours", "grading", "prerequisites", "midterm", "homework", "final exam"]
            {
                assert!(t.contains(word), "{word}: {t}");
            }
        }
    }

    #[test]
    fn numbers_below_are_below_and_spread() {
        let mut rng = Rng(learn::rng::Rng(1));
        let mut seen = [0; 10];
        for _ in 0..1000 {
            seen[rng.below(10)] += 1;
        }
        assert!(seen.iter().all(|&n| n > 50), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }
}
