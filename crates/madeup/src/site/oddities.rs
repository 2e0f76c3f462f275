//! The difficult part of the generated web: one host per phenomenon, each planted on purpose and tested for.

use super::plan::{CopyOf, HostId, Layout, LinkTarget, Manner, NodeId, OutLink, Plan, Quirk, Robots, Trap};
use super::sites::{self, DepartmentSize};
use super::text::Genre;
use super::words::{DATABASES, LANGUAGES};

pub const SLOW: &str = "slow.riverton.example";
pub const GENTLE: &str = "gentle.brookside.example";
pub const CLOSED: &str = "closed.stonewall.example";
pub const OPEN: &str = "open.meadow.example";
pub const SITEMAP: &str = "archive.oakhurst.example";
pub const TUNNEL: &str = "people.hollins.example";
pub const LEGACY: &str = "legacy.westbrook.example";
pub const REDIRECTS: &str = "go.shortcut.example";
pub const SOFT_404: &str = "www.pinecrest.example";
pub const FLAKY: &str = "flaky.lakeside.example";
pub const BUSY: &str = "busy.hillcrest.example";
pub const MIRROR: &str = "mirror.netcopy.example";
pub const CALENDAR: &str = "calendar.northfield.example";
pub const SESSIONS: &str = "www.oldforum.example";
pub const DEPTHS: &str = "files.deepwell.example";
const FOREIGN: &[(&str, &str)] = &[
    ("dcc.portoclaro.example", "Universidade de Porto Claro"),
    ("informatik.gruenwald.example", "Universität Grünwald"),
    ("informatica.valdenero.example", "Universidad de Valdenero"),
    ("info.montclair.example", "Université de Montclair"),
];

const A_FEW: DepartmentSize = DepartmentSize { courses: 4, databases: 2, faculty: 2, editions: 0 };

/// Plants everything; returns the pages a directory would list, with what it says of them.
pub fn plant(plan: &mut Plan, first_department: HostId) -> Vec<(NodeId, String)> {
    let mut doors = Vec::new();
    let mut door = |page: NodeId, what: &str| doors.push((page, what.to_string()));
    door(slow(plan), "Riverton College, computer science");
    door(with_robots(plan, GENTLE, "Brookside College", rules(&["/cgi-bin/"], Some(1))), "Brookside College");
    door(with_robots(plan, CLOSED, "Stonewall Institute", Robots::Unavailable), "Stonewall Institute");
    door(with_robots(plan, OPEN, "Meadow College", Robots::Missing), "Meadow College");
    door(sitemap(plan), "Oakhurst archive of teaching material");
    door(tunnels(plan), "Hollins, pages of our members");
    door(legacy(plan), "Westbrook College (old server)");
    door(soft_404(plan), "Pinecrest College");
    door(flaky(plan), "Lakeside College");
    door(busy(plan), "Hillcrest College");
    for (i, (host, institution)) in FOREIGN.iter().enumerate() {
        door(foreign(plan, host, institution, i), institution);
    }
    door(traps(plan), "The old forum");
    hidden(plan, first_department);
    door(redirects(plan, first_department), "Short links");
    doors
}

fn rules(disallow: &[&'static str], delay: Option<u32>) -> Robots {
    Robots::Rules { disallow: disallow.to_vec(), allow: Vec::new(), delay }
}

fn slow(plan: &mut Plan) -> NodeId {
    let host = plan.host(SLOW, "Riverton College");
    plan.host_mut(host, |h| h.slow = Some((300, 800)));
    sites::department(plan, host, A_FEW).home
}

fn with_robots(plan: &mut Plan, name: &str, institution: &str, robots: Robots) -> NodeId {
    let host = plan.host(name, institution);
    plan.host_mut(host, |h| h.robots = robots);
    sites::department(plan, host, DepartmentSize { courses: 2, databases: 1, faculty: 1, editions: 0 }).home
}

fn sitemap(plan: &mut Plan) -> NodeId {
    let host = plan.host(SITEMAP, "Oakhurst College");
    let home = plan.page(host, "/", Genre::Campus, 1, "Archive of teaching material");
    plan.nav(host, LinkTarget::Node(home), "Home");
    let mut pages = vec![home];
    for (i, subject) in [DATABASES, 1, 2, DATABASES, 3, 5].into_iter().enumerate() {
        let title = format!("Course outline {} - Syllabus", i + 1);
        pages.push(plan.page(host, &format!("/outlines/{}.html", i + 1), Genre::Syllabus, subject, &title));
    }
    plan.host_mut(host, |h| h.sitemap = pages);
    home
}

/// A relevant page behind two or three pages that have nothing to do with it.
fn tunnels(plan: &mut Plan) -> NodeId {
    let host = plan.host(TUNNEL, "Hollins");
    let home = plan.page(host, "/", Genre::Hub, 1, "Pages of our members");
    plan.nav(host, LinkTarget::Node(home), "All members");
    for (member, hops) in [("maud", 2), ("igor", 3)] {
        let mut at = plan.page(
            host,
            &format!("/{member}/"),
            Genre::Hobby,
            1,
            &format!("Welcome to {member}'s corner"),
        );
        plan.link(home, at, member);
        for hop in 1..hops {
            let next =
                plan.page(host, &format!("/{member}/album{hop}.html"), Genre::Hobby, 1, "More pictures");
            plan.link(at, next, "More pictures");
            at = next;
        }
        let target = plan.page(
            host,
            &format!("/{member}/old/db101.html"),
            Genre::Syllabus,
            DATABASES,
            "DB 101: Databases - Syllabus",
        );
        plan.link(at, target, "Things from my teaching days");
    }
    home
}

fn legacy(plan: &mut Plan) -> NodeId {
    let host = plan.host(LEGACY, "Westbrook College");
    plan.host_mut(host, |h| {
        h.gzip = false;
        h.layout = Layout::Modern;
    });
    let home = plan.page(host, "/", Genre::Hub, 1, "Westbrook College, old server");
    plan.nav(host, LinkTarget::Node(home), "Home");
    let pages: &[(&str, Genre, usize, Option<usize>, Quirk, &str)] = &[
        ("/unclosed.html", Genre::Syllabus, 0, None, Quirk::Unclosed, "Databases I - Syllabus"),
        ("/nesting.html", Genre::Syllabus, 0, None, Quirk::WrongNesting, "Databases II - Syllabus"),
        (
            "/latin1.html",
            Genre::Syllabus,
            0,
            Some(0),
            Quirk::Latin1,
            "Bancos de Dados - Programa da disciplina",
        ),
        (
            "/wrong-charset.html",
            Genre::Syllabus,
            1,
            Some(2),
            Quirk::Latin1AsUtf8,
            "Algoritmos - Programa de la asignatura",
        ),
        (
            "/utf8-as-latin1.html",
            Genre::Syllabus,
            2,
            Some(1),
            Quirk::Utf8AsLatin1,
            "Betriebssysteme - Übersicht",
        ),
        ("/empty.html", Genre::Campus, 1, None, Quirk::Empty, "Empty"),
        ("/huge.html", Genre::Paper, 0, None, Quirk::Huge, "The complete bibliography"),
        ("/lying.html", Genre::Campus, 1, None, Quirk::LyingType, "A picture"),
        ("/logo.png", Genre::Campus, 1, None, Quirk::Image, "Logo"),
    ];
    for (path, genre, subject, language, quirk, title) in pages {
        let page = plan.odd(host, path, *genre, *subject, title, quirk.clone());
        plan.node_mut(page, |n| n.language = *language);
        plan.list(home, page);
    }
    // Reached only through a frame, and only through a base element.
    let frames = plan.odd(host, "/frames.html", Genre::Hub, 1, "Course in frames", Quirk::Frames);
    let inner =
        plan.page(host, "/frames/main.html", Genre::Syllabus, DATABASES, "Database Systems - Syllabus");
    plan.list(home, frames);
    plan.link(frames, inner, "main");
    let base = plan.odd(host, "/base.html", Genre::Hub, 1, "Moved material", Quirk::Base);
    let moved =
        plan.page(host, "/attic/notes/db.html", Genre::Syllabus, DATABASES, "Data Management - Syllabus");
    plan.list(home, base);
    plan.link(base, moved, "Data management course");
    plan.raw(home, "#top", "Top of the page");
    plan.raw(home, "ftp://legacy.westbrook.example/pub/", "FTP server");
    plan.raw(home, "http://", "Broken link");
    plan.raw(home, "/does-not-exist.html", "Old time table");
    home
}

fn soft_404(plan: &mut Plan) -> NodeId {
    let host = plan.host(SOFT_404, "Pinecrest College");
    plan.host_mut(host, |h| h.manner = Manner::SoftNotFound);
    let home = sites::department(plan, host, A_FEW).home;
    plan.raw(home, "/databases/syllabus-2019.html", "Database course of 2019");
    plan.raw(home, "/old/index.html", "The old site");
    home
}

fn flaky(plan: &mut Plan) -> NodeId {
    let host = plan.host(FLAKY, "Lakeside College");
    let dept = sites::department(plan, host, A_FEW);
    let odd: &[(&str, Quirk)] = &[
        ("/lab/error.html", Quirk::Status(500)),
        ("/lab/unavailable.html", Quirk::Status(503)),
        ("/lab/cut.html", Quirk::Cut),
        ("/lab/dropped.html", Quirk::Drop),
        ("/lab/forbidden.html", Quirk::Status(403)),
        ("/lab/gone.html", Quirk::Status(410)),
    ];
    for (path, quirk) in odd {
        let page =
            plan.odd(host, path, Genre::Syllabus, DATABASES, "Database laboratory - Syllabus", quirk.clone());
        plan.link(dept.home, page, "Database laboratory");
    }
    let retry = plan.odd(
        host,
        "/lab/retry.html",
        Genre::Syllabus,
        DATABASES,
        "Database practicum - Syllabus",
        Quirk::FailsOnce,
    );
    plan.link(dept.home, retry, "Database practicum");
    dept.home
}

fn busy(plan: &mut Plan) -> NodeId {
    let host = plan.host(BUSY, "Hillcrest College");
    plan.host_mut(host, |h| h.manner = Manner::BusyAtFirst(3));
    sites::department(plan, host, A_FEW).home
}

fn foreign(plan: &mut Plan, name: &str, institution: &str, language: usize) -> NodeId {
    let Some(l) = LANGUAGES.get(language) else { return 0 };
    let host = plan.host(name, institution);
    let home = plan.page(host, "/", Genre::Campus, 0, institution);
    let list = plan.page(host, "/cursos/", Genre::Hub, 0, l.list);
    let staff = plan.page(host, "/staff.html", Genre::Hub, 0, l.staff);
    for (to, anchor) in [(home, institution), (list, l.list), (staff, l.staff)] {
        plan.nav(host, LinkTarget::Node(to), anchor);
    }
    let mut all = vec![home, list, staff];
    for (subject, name) in l.courses.iter().enumerate() {
        // Two terms of each course, three of databases.
        for term in 0..if subject == 0 { 3 } else { 2 } {
            let title = format!("{name} {}", ["I", "II", "III"].get(term).unwrap_or(&""));
            let path = format!("/cursos/{}-{}/", ["db", "algo", "os"].get(subject).unwrap_or(&"x"), term + 1);
            let page = plan.page(host, &path, Genre::Syllabus, subject, title.trim());
            plan.list(list, page);
            all.push(page);
        }
    }
    for page in all {
        plan.node_mut(page, |n| n.language = Some(language));
    }
    home
}

fn traps(plan: &mut Plan) -> NodeId {
    for (name, institution, trap) in [
        (CALENDAR, "Northfield University", Trap::Calendar),
        (SESSIONS, "The old forum", Trap::Sessions),
        (DEPTHS, "Deepwell", Trap::Depths),
    ] {
        let host = plan.host(name, institution);
        plan.host_mut(host, |h| h.manner = Manner::Trap(trap));
    }
    // A door to the three; the traps themselves are made up as they are asked for.
    let host = plan.host("www.linkfarm.example", "Link farm");
    let home = plan.page(host, "/", Genre::Hub, 1, "Places to get lost");
    plan.raw(home, &format!("http://{CALENDAR}/2026/11/"), "Events calendar");
    plan.raw(home, &format!("http://{SESSIONS}/"), "The old forum");
    plan.raw(home, &format!("//{DEPTHS}/data/"), "Files");
    home
}

/// Pages of an ordinary department that a polite crawler leaves alone, and a few it must find in odd ways.
fn hidden(plan: &mut Plan, host: HostId) {
    let home = plan.find(host, "/").unwrap_or(0);
    plan.host_mut(host, |h| {
        h.robots = Robots::Rules {
            disallow: vec!["/cgi-bin/", "/private/"],
            allow: vec!["/private/public/"],
            delay: None,
        };
    });
    let page =
        |plan: &mut Plan, path: &str, title: &str| plan.page(host, path, Genre::Syllabus, DATABASES, title);
    let private = page(plan, "/private/cs299.html", "CS 299: Databases for staff - Syllabus");
    let public = page(plan, "/private/public/cs298.html", "CS 298: Databases for everybody - Syllabus");
    let noindex = page(plan, "/drafts/cs297.html", "CS 297: Databases - Syllabus (draft)");
    plan.node_mut(noindex, |n| n.noindex = true);
    let nofollow = plan.page(host, "/links.html", Genre::Hub, 1, "Links we do not vouch for");
    plan.node_mut(nofollow, |n| n.nofollow = true);
    let behind = page(plan, "/unvouched/cs296.html", "CS 296: Databases - Syllabus");
    plan.link(nofollow, behind, "A course on databases");
    let shunned = page(plan, "/unvouched/cs295.html", "CS 295: Databases - Syllabus");
    for (to, anchor) in [
        (private, "CS 299: Databases for staff"),
        (public, "CS 298: Databases for everybody"),
        (noindex, "CS 297: Databases (draft)"),
        (nofollow, "Links"),
    ] {
        plan.link(home, to, anchor);
    }
    let rel_nofollow =
        OutLink { to: LinkTarget::Node(shunned), anchor: "CS 295: Databases".into(), nofollow: true };
    plan.node_mut(home, |n| n.links.push(rel_nofollow));
    let title = "CS 294: Databases in practice - Syllabus";
    let pdf = plan.odd(host, "/handouts/cs294.pdf", Genre::Syllabus, DATABASES, title, Quirk::Pdf);
    plan.link(home, pdf, "CS 294: Databases in practice (PDF)");
    let picture = plan.odd(host, "/images/campus.png", Genre::Campus, 1, "Campus", Quirk::Image);
    plan.link(home, picture, "The campus from above");
    plan.raw(home, &format!("http://{CALENDAR}/2026/11/"), "Calendar");
    plan.raw(home, "/cgi-bin/search?q=databases", "Search");
}

fn redirects(plan: &mut Plan, host: HostId) -> NodeId {
    let go = plan.host(REDIRECTS, "Short links");
    let home = plan.page(go, "/", Genre::Hub, 1, "Short links");
    plan.nav(go, LinkTarget::Node(home), "Home");
    let hop = |plan: &mut Plan, path: &str, status: u16, location: Option<&str>, to: Option<NodeId>| {
        let quirk = Quirk::Redirect(status, location.map(str::to_string));
        let page = plan.odd(go, path, Genre::Hub, 1, path, quirk);
        if let Some(to) = to {
            plan.link(page, to, "here");
        }
        page
    };
    // Pages that nothing but a redirect leads to.
    let course = |plan: &mut Plan, n: usize| {
        let title = format!("CS 28{n}: Databases - Syllabus");
        plan.page(host, &format!("/moved/cs28{n}/syllabus.html"), Genre::Syllabus, DATABASES, &title)
    };
    let (first, third) = (course(plan, 1), course(plan, 3));
    let relative = plan.page(
        go,
        "/landing/page.html",
        Genre::Syllabus,
        DATABASES,
        "Databases, distance course - Syllabus",
    );
    let absolute = plan.url(first);
    let c = hop(plan, "/c", 301, Some(&absolute), Some(first));
    let b = hop(plan, "/b", 302, Some(&format!("http://{REDIRECTS}/c")), Some(c));
    let a = hop(plan, "/a", 301, Some("/b"), Some(b));
    let rel = hop(plan, "/relative", 302, Some("landing/page.html"), Some(relative));
    let loop_1 = hop(plan, "/loop1", 302, Some("/loop2"), None);
    hop(plan, "/loop2", 302, Some("/loop1"), None);
    let own = hop(plan, "/self", 301, Some("/self"), None);
    let nowhere = hop(plan, "/nowhere", 301, None, None);
    let mail = hop(plan, "/mail", 302, Some("mailto:staff@shortcut.example"), None);
    let refresh = plan.odd(go, "/refresh.html", Genre::Campus, 1, "We have moved", Quirk::Refresh);
    plan.link(refresh, third, "here");
    // Longer than anybody should follow.
    let end = plan.page(go, "/chain/end.html", Genre::Campus, 1, "The end of the chain");
    let mut next = end;
    for n in (1..=25).rev() {
        let location = if n == 25 { "/chain/end.html".to_string() } else { format!("/chain/{}", n + 1) };
        next = hop(plan, &format!("/chain/{n}"), 302, Some(&location), Some(next));
    }
    for (page, anchor) in [
        (a, "Database course, autumn"),
        (rel, "Distance course"),
        (loop_1, "Room plan"),
        (own, "Canteen menu"),
        (nowhere, "Bus times"),
        (mail, "Write to us"),
        (refresh, "Database course, spring"),
        (next, "Twenty-five hops"),
    ] {
        plan.link(home, page, anchor);
    }
    home
}

/// The same bytes under another name: copies a host's courses to the mirror. Returns the mirror's list.
pub fn mirror(plan: &mut Plan, original: HostId, courses: NodeId) -> NodeId {
    let host = plan.host(MIRROR, "Net copy");
    let prefix = plan.nodes.get(courses as usize).map_or(String::new(), |n| n.path.clone());
    let nodes: Vec<NodeId> = (0..plan.nodes.len() as NodeId)
        .filter(|&id| {
            plan.nodes.get(id as usize).is_some_and(|n| n.host == original && n.path.starts_with(&prefix))
        })
        .collect();
    let mut copies = Vec::new();
    for &id in &nodes {
        let Some(n) = plan.nodes.get(id as usize).cloned() else { continue };
        let copy = plan.page(host, &n.path, n.genre, n.subject, &n.title);
        plan.node_mut(copy, |m| m.copy = CopyOf::Exactly(id));
        copies.push((id, copy, n.links));
    }
    // Same-host links of the copied bytes lead to the copies, or nowhere.
    for (_, copy, links) in copies.clone() {
        for link in links {
            let Some(to) = link.to.node() else { continue };
            let Some(target) = plan.nodes.get(to as usize) else { continue };
            let to = if target.host == original {
                copies.iter().find(|c| c.0 == to).map(|c| c.1)
            } else {
                Some(to)
            };
            if let Some(to) = to {
                plan.node_mut(copy, |n| n.links.push(OutLink { to: LinkTarget::Node(to), ..link.clone() }));
            }
        }
    }
    plan.find(host, &prefix).unwrap_or(courses)
}
