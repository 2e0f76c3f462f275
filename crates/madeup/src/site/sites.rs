//! The ordinary part of the generated web: universities with their departments, news, jobs, a shop, blogs,
//! documentation.

use super::plan::{CopyOf, HostId, LinkTarget, NodeId, Plan};
use super::text::{Genre, Rng, upper_first};
use super::words::*;

/// A department's web: course lists, faculty, courses with their syllabi.
pub struct Department {
    pub home: NodeId,
    pub courses: NodeId,
}

#[derive(Clone, Copy, Debug)]
pub struct DepartmentSize {
    pub courses: usize,
    /// How many of the courses are about databases.
    pub databases: usize,
    pub faculty: usize,
    /// Earlier years' editions of the first database course (near-duplicates).
    pub editions: usize,
}

/// Where a department puts its courses, and whether the syllabus has a page of its own.
struct Habit {
    prefix: &'static str,
    file: Option<&'static str>,
}

const HABITS: &[Habit] = &[
    Habit { prefix: "/courses/", file: Some("syllabus.html") },
    Habit { prefix: "/teaching/", file: Some("info.html") },
    Habit { prefix: "/classes/2026/", file: None },
];

pub fn department(plan: &mut Plan, host: HostId, size: DepartmentSize) -> Department {
    let name = plan.hosts.get(host as usize).map_or(String::new(), |h| h.name.clone());
    let mut rng = Rng::named(plan.seed ^ 1, &name);
    let habit = &HABITS[rng.below(HABITS.len()).min(HABITS.len() - 1)];
    let who = plan.hosts.get(host as usize).map_or(String::new(), |h| h.institution.clone());
    let home = plan.page(host, "/", Genre::Campus, 1, &format!("Department of Computer Science, {who}"));
    let list = plan.page(host, habit.prefix, Genre::Hub, 1, "Courses");
    let people = plan.page(host, "/people/", Genre::Hub, 1, "Faculty and staff");
    let contact = plan.page(host, "/contact.html", Genre::Campus, 1, "Contact and directions");
    plan.link(home, list, "Courses offered this year");
    plan.link(home, people, "Our faculty");
    plan.raw(contact, "mailto:office@cs.example", "Write to the office");
    plan.raw(contact, "tel:+15550100", "Call us");
    for (to, anchor) in [(home, "Home"), (list, "Courses"), (people, "People"), (contact, "Contact")] {
        plan.nav(host, LinkTarget::Node(to), anchor);
    }
    let mut faculty = Vec::new();
    for _ in 0..size.faculty {
        let person = rng.person();
        let slug = person.rsplit(' ').next().unwrap_or("").to_lowercase();
        let page =
            plan.page(host, &format!("/people/{slug}.html"), Genre::Faculty, rng.below(COMPUTING), &person);
        plan.list(people, page);
        faculty.push((page, slug));
    }
    let mut number = 100 + rng.below(20);
    let mut editions = size.editions;
    for i in 0..size.courses {
        // Database courses are spread over the list, not put together at its top.
        let about_databases =
            (i + 1) * size.databases / size.courses.max(1) > i * size.databases / size.courses.max(1);
        let subject = if about_databases { DATABASES } else { 1 + rng.below(COMPUTING - 1) };
        let title = SUBJECTS.get(subject).map_or("Seminar", |s| rng.pick(s.courses));
        number += 5 + rng.below(25);
        let full = format!("CS {number}: {title}");
        let folder = format!("{}cs{number}/", habit.prefix);
        let (front, syllabus) = match habit.file {
            Some(file) => {
                let front = plan.page(host, &folder, Genre::CourseHome, subject, &full);
                let page = plan.page(
                    host,
                    &format!("{folder}{file}"),
                    Genre::Syllabus,
                    subject,
                    &format!("{full} - Syllabus"),
                );
                plan.link(
                    front,
                    page,
                    rng.pick(&["Syllabus", "Course syllabus", "Course information", "About this course"]),
                );
                plan.link(page, front, "Back to the course page");
                (front, page)
            }
            None => {
                let page = plan.page(host, &folder, Genre::Syllabus, subject, &full);
                (page, page)
            }
        };
        let homework = plan.page(
            host,
            &format!("{folder}hw1.html"),
            Genre::Assignment,
            subject,
            &format!("{full} - Assignment 1"),
        );
        plan.link(front, homework, "Assignment 1");
        plan.raw(front, &format!("{folder}slides.ppt"), "Slides of week 1");
        plan.raw(front, "javascript:void(0)", "Show announcements");
        if i % 4 == 0 {
            let faq = plan.page(
                host,
                &format!("{folder}faq.html"),
                Genre::CourseFaq,
                subject,
                &format!("{full} - Questions"),
            );
            plan.link(front, faq, "Frequently asked questions");
        }
        if let Some((page, _)) = faculty.get(i % faculty.len().max(1)) {
            plan.link(*page, front, &full);
            plan.link(front, *page, "Instructor");
        }
        // Every seventh course is known to its teacher only.
        if i % 7 != 6 || faculty.is_empty() {
            plan.link(list, front, &full);
        }
        if about_databases {
            for edition in 0..std::mem::take(&mut editions) {
                let year = 2025 - edition;
                let path = format!("{folder}{year}/syllabus.html");
                let old =
                    plan.page(host, &path, Genre::Syllabus, subject, &format!("{full} - Syllabus {year}"));
                plan.node_mut(old, |n| n.copy = CopyOf::Nearly(syllabus));
                plan.link(front, old, &format!("Earlier edition, {year}"));
            }
        }
    }
    Department { home, courses: list }
}

/// The host of a whole university; links to its department. `filler` is how much else there is.
pub fn campus(plan: &mut Plan, host: HostId, departments: &[(NodeId, &str)], filler: usize) -> NodeId {
    let name = plan.hosts.get(host as usize).map_or(String::new(), |h| h.name.clone());
    let who = plan.hosts.get(host as usize).map_or(String::new(), |h| h.institution.clone());
    let mut rng = Rng::named(plan.seed ^ 2, &name);
    let home = plan.page(host, "/", Genre::Campus, 1, &who);
    let list = plan.page(host, "/departments.html", Genre::Hub, 1, "Departments and schools");
    let stories = plan.page(host, "/news/", Genre::Hub, 1, "Campus news");
    for (to, anchor) in [(home, "Home"), (list, "Departments"), (stories, "News")] {
        plan.nav(host, LinkTarget::Node(to), anchor);
    }
    for (path, title) in [
        ("/admissions.html", "Admissions"),
        ("/library.html", "The library"),
        ("/life.html", "Life on campus"),
    ] {
        let page = plan.page(host, path, Genre::Campus, 1, title);
        plan.nav(host, LinkTarget::Node(page), title);
    }
    plan.link(home, list, "Departments and their courses");
    for (to, anchor) in departments {
        plan.link(list, *to, anchor);
    }
    // Other departments' courses: the right genre, the wrong subject.
    for subject in COMPUTING..SUBJECTS.len() {
        let Some(s) = SUBJECTS.get(subject) else { continue };
        let folder = format!("/departments/{}/", s.slug);
        let title = format!("Department of {}", upper_first(s.name));
        let department = plan.page(host, &folder, Genre::Hub, subject, &title);
        plan.list(list, department);
        for i in 0..filler {
            let person = rng.person();
            let page = plan.page(host, &format!("{folder}staff{i}.html"), Genre::Faculty, subject, &person);
            plan.list(department, page);
        }
        for i in 0..filler {
            let course = rng.pick(s.courses);
            let path = format!("{folder}syllabus{i}.html");
            let page = plan.page(host, &path, Genre::Syllabus, subject, &format!("{course} - Syllabus"));
            plan.link(department, page, course);
        }
    }
    for i in 0..3 + filler {
        let subject = rng.below(SUBJECTS.len());
        let title = headline(subject, &mut rng);
        let page = plan.page(host, &format!("/news/{}.html", 300 + i), Genre::News, subject, &title);
        plan.list(stories, page);
    }
    home
}

pub fn headline(subject: usize, rng: &mut Rng) -> String {
    let Some(s) = SUBJECTS.get(subject) else { return String::new() };
    let term = rng.pick(s.terms);
    upper_first(&match rng.below(4) {
        0 => format!("Why {term} is back in fashion"),
        1 => format!("Prize for research on {term}"),
        2 => format!("A new start in {}: {term}", s.name),
        _ => format!("{term}: what you need to know"),
    })
}

/// A site that is a list of sections, each a list of pages: news, jobs, shops, papers, documentation, blogs.
pub struct Catalogue {
    pub genre: Genre,
    pub title: &'static str,
    /// Path of a section and of a page: `{s}` is the subject's slug, `{i}` a number.
    pub section: &'static str,
    pub page: &'static str,
    pub pages: usize,
}

pub fn catalogue(plan: &mut Plan, host: HostId, what: &Catalogue) -> (NodeId, Vec<NodeId>) {
    let name = plan.hosts.get(host as usize).map_or(String::new(), |h| h.name.clone());
    let mut rng = Rng::named(plan.seed ^ 3, &name);
    let home = plan.page(host, "/", Genre::Hub, 1, what.title);
    plan.nav(host, LinkTarget::Node(home), "Home");
    let about = plan.page(host, "/about.html", Genre::Campus, 1, &format!("About {}", what.title));
    plan.nav(host, LinkTarget::Node(about), "About us");
    let mut sections = Vec::new();
    for s in SUBJECTS {
        let page = plan.page(host, &what.section.replace("{s}", s.slug), Genre::Hub, 1, &upper_first(s.name));
        plan.list(home, page);
        if sections.len() < 5 {
            plan.nav(host, LinkTarget::Node(page), &upper_first(s.name));
        }
        sections.push(page);
    }
    let mut pages: Vec<NodeId> = Vec::new();
    for i in 0..what.pages {
        // A sixth of everything is about databases: other genres on the wanted subject.
        let subject = if i % 6 == 0 { DATABASES } else { 1 + rng.below(SUBJECTS.len() - 1) };
        let slug = SUBJECTS.get(subject).map_or("", |s| s.slug);
        let path = what.page.replace("{s}", slug).replace("{i}", &(1000 + i * 7).to_string());
        let title = page_title(what.genre, subject, &mut rng);
        let page = plan.page(host, &path, what.genre, subject, &title);
        if let Some(section) = sections.get(subject) {
            plan.list(*section, page);
        }
        // Related pages, and a picture on some.
        for _ in 0..2 {
            if let Some(&other) = pages.get(rng.below(pages.len())) {
                let tracked = rng.below(3) == 0;
                let title = plan.nodes.get(other as usize).map_or(String::new(), |n| n.title.clone());
                plan.out(
                    page,
                    if tracked { LinkTarget::Tracked(other) } else { LinkTarget::Node(other) },
                    &format!("Related: {title}"),
                );
            }
        }
        pages.push(page);
    }
    (home, pages)
}

fn page_title(genre: Genre, subject: usize, rng: &mut Rng) -> String {
    let Some(s) = SUBJECTS.get(subject) else { return String::new() };
    let term = rng.pick(s.terms);
    upper_first(&match genre {
        Genre::Job => match subject {
            DATABASES => {
                rng.pick(&["Database administrator (DBA)", "SQL developer", "Data engineer"]).to_string()
            }
            _ => format!("Specialist in {}", s.name),
        },
        Genre::Product => format!("{} kit: {term}", s.name),
        Genre::Paper => format!("On {term} and {}", rng.pick(s.terms)),
        Genre::Doc => format!("Reference: {term}"),
        Genre::Blog => format!("An evening with {term}"),
        _ => headline(subject, rng),
    })
}
