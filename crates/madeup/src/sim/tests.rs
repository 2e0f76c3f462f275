use super::layout::{Place, Target};
use super::*;
use eval::graph::{Answer, Graph};
use std::num::NonZeroUsize;
use types::Millis;

/// Links of a page as absolute URLs, read from the markup.
fn hrefs(url: &Url, html: &str) -> Vec<Url> {
    html.split("<a href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .map(|h| Canon::exact().join(url, &h.replace("&amp;", "&")).unwrap())
        .collect()
}

fn graph(web: &SimWeb) -> Graph {
    let ask = |u: &Url| {
        if web.is_trap(u) {
            return Answer::Nothing;
        }
        let f = web.answer(u);
        match f.location {
            Some(to) => Answer::Redirect(Canon::exact().parse(&to).unwrap()),
            None if f.status == 200 => {
                Answer::Page(hrefs(u, std::str::from_utf8(f.payload.decoded()).unwrap()))
            }
            None => Answer::Nothing,
        }
    };
    Graph::build(&web.seeds(), ask, NonZeroUsize::MIN, usize::MAX)
}

#[test]
fn every_preset_is_reachable_and_has_the_share_it_says() {
    for preset in PRESETS {
        let web = SimWeb::open(&format!("sim:{}?pages=3000&hosts=25&seed=3", preset.name)).unwrap();
        let g = graph(&web);
        assert_eq!(g.nodes(), 3000, "sim:{}", preset.name);
        let relevant = web.relevant().filter(|&id| web.about(id).copy_of.is_none()).count() as f64;
        let wanted = web.options().topic_share * 3000.0;
        let spread = 4.0 * wanted.sqrt() + 0.25 * wanted;
        assert!(
            (relevant - wanted).abs() < spread,
            "sim:{}: {relevant} relevant, {wanted} wanted",
            preset.name
        );
        for s in web.seeds() {
            assert!(!web.is_relevant(&s) && web.id_of(&s).is_some());
        }
        assert_eq!(web.seeds().len(), 4);
    }
}

#[test]
fn same_seed_same_web() {
    let a = SimWeb::open("sim:mixed?pages=2000&seed=5").unwrap();
    let b = SimWeb::open("sim:mixed?pages=2000&seed=5").unwrap();
    let c = SimWeb::open("sim:mixed?pages=2000&seed=6").unwrap();
    assert_eq!(a.recipe(), b.recipe());
    assert_ne!(a.recipe(), c.recipe());
    let mut differs = 0;
    for n in (0..2000).step_by(37) {
        let url = a.url_of(n).unwrap();
        assert_eq!(Some(&url), b.url_of(n).as_ref());
        assert_eq!(a.page_html(&url), b.page_html(&url));
        differs += (a.url_of(n) != c.url_of(n)) as u32;
        assert_eq!(a.id_of(&url), Some(n));
    }
    assert!(differs > 10);
    assert_eq!(a.labels_tsv(false), b.labels_tsv(false));
}

#[test]
fn hubs_relevant_pages_do_not_link_to_each_other() {
    let web = SimWeb::open("sim:hubs?pages=4000").unwrap();
    let mut relevant = 0;
    for id in web.relevant() {
        relevant += 1;
        let a = web.about(id);
        for (place, target) in web.layout.links(&a) {
            if let (Place::Content, Target::Page(to) | Target::Moved(to)) = (place, target) {
                assert!(!web.about(to).relevant, "{id} → {to}");
            }
        }
        // … but its section's list has it.
        let list = web.layout.section(a.section).start;
        let listed = web.layout.links(&web.about(list));
        assert!(listed.iter().any(|(_, t)| matches!(t, Target::Page(p) | Target::Moved(p) if *p == id)));
    }
    assert!(relevant > 100);
}

#[test]
fn tunnels_hide_relevant_pages() {
    let web = SimWeb::open("sim:tunnel?pages=4000&cite=0").unwrap();
    let g = graph(&web);
    // Every page that links to a relevant one is a tunnel's end.
    let mut links = 0;
    for from in 0..g.nodes() as u32 {
        let a = web.about(web.id_of(&Canon::exact().parse(g.url(from)).unwrap()).unwrap());
        for &to in g.targets(from) {
            let to = web.id_of(&Canon::exact().parse(g.url(to)).unwrap()).unwrap();
            if web.about(to).relevant {
                links += 1;
                assert_eq!(a.role, Role::Tunnel(3), "{a:?} → {to}");
            }
        }
    }
    assert!(links > 50);
}

#[test]
fn locality_decays_over_hops() {
    let web = SimWeb::open("sim:campus?pages=20000&hosts=60").unwrap();
    // Share of relevant pages among the content links of relevant pages, of their targets, and overall.
    let share = |ids: &[u32]| {
        let (mut hit, mut all) = (0, 0);
        for &id in ids {
            for (place, t) in web.layout.links(&web.about(id)) {
                if let (Place::Content, Target::Page(to)) = (place, t) {
                    hit += web.about(to).relevant as usize;
                    all += 1;
                }
            }
        }
        hit as f64 / all.max(1) as f64
    };
    let relevant: Vec<u32> = web.relevant().collect();
    let next: Vec<u32> = relevant
        .iter()
        .flat_map(|&id| web.layout.links(&web.about(id)))
        .filter_map(|(p, t)| match (p, t) {
            (Place::Content, Target::Page(to)) if !web.about(to).relevant => Some(to),
            _ => None,
        })
        .collect();
    let everyone: Vec<u32> = (0..20_000).collect();
    let (zero, one, all) = (share(&relevant), share(&next), share(&everyone));
    assert!(zero > 2.0 * one && one > 1.3 * all, "{zero:.3} {one:.3} {all:.3}");
}

#[test]
fn text_tells_relevant_pages_from_others() {
    let web = SimWeb::open("sim:campus?pages=5000").unwrap();
    let count = |id: u32, terms: &[&str]| {
        let html = web.page_html(&web.url_of(id).unwrap()).unwrap().to_lowercase();
        let main = html.split("<main>").nth(1).unwrap().split("</main>").next().unwrap().to_string();
        terms.iter().take(14).map(|t| main.matches(t).count()).sum::<usize>()
    };
    let both = |id: u32| (count(id, SUBJECTS[0].terms), count(id, GENRES[0].terms));
    let mean = |ids: &[u32]| {
        let sums = ids.iter().map(|&id| both(id)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        (sums.0 as f64 / ids.len() as f64, sums.1 as f64 / ids.len() as f64)
    };
    let relevant: Vec<u32> = web.relevant().take(80).collect();
    let others: Vec<u32> = (0..5000).step_by(61).filter(|&id| !web.about(id).relevant).collect();
    let same_subject: Vec<u32> = (0..5000)
        .filter(|&id| {
            let a = web.about(id);
            a.subject == 0 && !a.relevant && a.role == Role::Leaf
        })
        .take(80)
        .collect();
    let (r, o, s) = (mean(&relevant), mean(&others), mean(&same_subject));
    assert!(r.0 > 3.0 * o.0 && r.1 > 3.0 * o.1, "{r:?} {o:?}");
    // On the subject but of another genre: content alone cannot tell them apart, the genre can.
    assert!(s.0 > 0.5 * r.0 && r.1 > 3.0 * s.1, "{r:?} {s:?}");
}

#[test]
fn traps_go_on_forever_and_are_no_pages() {
    let web = SimWeb::open("sim:traps?pages=2000&traps=1").unwrap();
    let home = web.seeds()[0].clone();
    for start in ["/calendar/2024/12/", "/browse?sort=name&page=3", "/loop/here/"] {
        let mut url = Canon::exact().join(&home, start).unwrap();
        for _ in 0..50 {
            assert!(web.is_trap(&url));
            assert_eq!(web.id_of(&url), None);
            let html = web.page_html(&url).unwrap();
            url = hrefs(&url, &html).remove(1);
        }
    }
    for odd in ["/calendar/x/1/", "/calendar/2024/13/", "/calendar/", "/calendar/99999999999/1/"] {
        assert_eq!(web.answer(&Canon::exact().join(&home, odd).unwrap()).status, 404, "{odd}");
    }
    let calm = SimWeb::open("sim:campus?pages=2000").unwrap();
    let there = Canon::exact().join(&calm.seeds()[0], "/calendar/2024/12/").unwrap();
    assert_eq!(calm.answer(&there).status, 404);
}

#[test]
fn copies_repeat_their_original() {
    let web = SimWeb::open("sim:copies?pages=2000").unwrap();
    let copies: Vec<About> = (0..2000).map(|id| web.about(id)).filter(|a| a.copy_of.is_some()).collect();
    assert!((200..600).contains(&copies.len()), "{}", copies.len());
    for a in copies.iter().take(20) {
        let original = web.about(a.copy_of.unwrap());
        assert_eq!((a.relevant, a.subject, original.copy_of), (original.relevant, original.subject, None));
        let first = |id: u32| {
            let html = web.page_html(&web.url_of(id).unwrap()).unwrap();
            html.split("<p>").nth(1).unwrap().split('.').next().unwrap().to_string()
        };
        assert_eq!(first(a.id), first(original.id));
        assert!(web.label(a.id).contains("duplicate"));
    }
}

#[test]
fn nothing_at_other_addresses() {
    let web = SimWeb::open("sim:campus?pages=500").unwrap();
    let home = web.seeds()[0].clone();
    let page = web.url_of(7).unwrap();
    for odd in [
        "http://unknown.example/".to_string(),
        "http://example/".to_string(),
        "http://x99999999999.example/".to_string(),
        format!("{page}x"),
        format!("{page}?a=1"),
        page.as_str().replace("-7.html", "-8.html"),
        format!("{home}old/499999"),
        format!("{home}wrong-1/"),
    ] {
        let url = Canon::exact().parse(&odd).unwrap();
        assert_eq!(web.answer(&url).status, 404, "{odd}");
        assert_eq!(web.resolve(&url), None);
    }
    let host = page.host_key();
    let moved = Canon::exact().parse(&format!("http://{host}/old/7")).unwrap();
    assert_eq!(web.answer(&moved).location.as_deref(), Some(page.as_str()));
    assert_eq!(web.resolve(&moved), Some(page));
}

#[test]
fn tiny_webs_work() {
    for spec in [
        "sim:campus?pages=4&hosts=1",
        "sim:tunnel?pages=5&hosts=9",
        "sim:mixed?pages=30&hosts=30&languages=5",
        "sim:rare?pages=50&topic-share=0",
    ] {
        let web = SimWeb::open(spec).unwrap();
        assert_eq!(graph(&web).nodes() as u32, web.options().pages, "{spec}");
        assert!(web.topic_toml().contains("[seeds]"));
    }
}

#[test]
fn a_million_pages_without_keeping_them() {
    let web = SimWeb::open("sim:mixed?pages=1000k&hosts=2000").unwrap();
    assert_eq!(web.options().pages, 1_000_000);
    assert!(web.layout.sections.len() < 40_000);
    let url = web.url_of(999_999).unwrap();
    assert!(web.page_html(&url).unwrap().len() > 1000);
}

const LIVING: &str = "sim:campus?pages=400&hosts=6&change=0.2&born=0.4&die=0.3&days=30";

#[test]
fn a_living_web_is_a_function_of_seed_and_time() {
    let (clock, other) = (Clock::default(), Clock::default());
    let a = SimWeb::open(LIVING).unwrap().at_time_of(&clock);
    let b = SimWeb::open(LIVING).unwrap().at_time_of(&other);
    // Whatever the time was before.
    other.set(Millis(25 * DAY));
    for day in [0, 3, 12, 25] {
        let now = Millis(day * DAY);
        clock.set(now);
        other.set(now);
        for id in 0..400 {
            let url = a.url_of(id).unwrap();
            assert_eq!(a.page_html(&url), b.page_html(&url));
            assert_eq!(a.page_html(&url).is_some(), a.life(id).is_at(now), "{url}");
        }
    }
    // A page is what it was between two of its changes, and something else after one.
    let leaf = (0..400).find(|id| a.life(*id).is_at(Millis(0)) && a.change_rate(*id) > 0.1).unwrap();
    let times: Vec<Millis> = a.change_times(leaf).take(4).collect();
    let at = |t: u64| {
        clock.set(Millis(t));
        a.page_html(&a.url_of(leaf).unwrap())
    };
    let gone = a.life(leaf).gone;
    for pair in times.windows(2).filter(|pair| pair[1] < gone) {
        assert_eq!(at(pair[0].0), at(pair[1].0 - 1));
        assert_ne!(at(pair[0].0), at(pair[1].0));
    }
    assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn rates_births_and_deaths_are_those_that_were_asked_for() {
    let web = SimWeb::open("sim:hubs?pages=6000&change=0.5&born=0.3&die=0.2&days=40").unwrap();
    let leaves: Vec<u32> = (0..6000).filter(|id| web.about(*id).role == Role::Leaf).collect();
    let n = leaves.len() as f64;
    let mean = leaves.iter().map(|id| web.change_rate(*id)).sum::<f64>() / n;
    assert!((0.3..0.8).contains(&mean), "{mean}");
    let seen = |id: &u32| {
        let until = web.life(*id).born.0 + 20 * DAY;
        web.change_times(*id).take_while(|t| t.0 <= until).count()
    };
    let changes = leaves.iter().map(seen).sum::<usize>() as f64 / n / 20.0;
    assert!((changes / mean - 1.0).abs() < 0.05, "{changes} of {mean}");
    let share = |so: &dyn Fn(Life) -> bool| leaves.iter().filter(|id| so(web.life(**id))).count() as f64 / n;
    assert!((share(&|l| l.born.0 > 0) - 0.3).abs() < 0.04);
    assert!((share(&|l| l.gone != Millis::NEVER) - 0.2).abs() < 0.02);
    assert!(leaves.iter().all(|id| web.life(*id).born < web.life(*id).gone));
    // One that does not live stays as it is, whatever the clock says.
    let clock = Clock::default();
    let still = SimWeb::open("sim:hubs?pages=200").unwrap();
    let moved = SimWeb::open("sim:hubs?pages=200").unwrap().at_time_of(&clock);
    clock.set(Millis(900 * DAY));
    for id in 0..200 {
        let url = still.url_of(id).unwrap();
        assert_eq!(still.page_html(&url), moved.page_html(&url));
    }
}

#[test]
fn what_is_born_is_on_a_list_and_in_a_feed_and_what_is_gone_on_neither() {
    let (clock, now) = (Clock::default(), Millis(20 * DAY));
    let web = SimWeb::open(&format!("{LIVING}&redirects=0")).unwrap().at_time_of(&clock);
    clock.set(now);
    let (mut born, mut gone) = (0, 0);
    for id in 0..400 {
        let (life, about) = (web.life(id), web.about(id));
        if about.role != Role::Leaf {
            assert!(life.is_at(now));
            continue;
        }
        let list = web.layout.section(about.section).start;
        assert_eq!(web.links_at(list, now).contains(&id), life.is_at(now), "{about:?} {life:?}");
        born += u32::from(life.born.0 > 0 && life.is_at(now));
        gone += u32::from(life.gone <= now);
    }
    assert!(born > 20 && gone > 10, "{born} {gone}");
    let url = Canon::exact().parse(&format!("http://{}/feed.xml", web.host_name(0))).unwrap();
    let feed = web.answer(&url);
    let newest = web.newest(0, now);
    assert!(!newest.is_empty() && newest.len() <= 20);
    let options = extract::Options::default();
    let page = extract::extract(&url, Some("application/rss+xml"), None, feed.payload.decoded(), &options);
    assert_eq!(page.kind, types::PageKind::Feed);
    for id in newest {
        let listed = page.links.iter().any(|l| Some(&l.url) == web.url_of(id).as_ref());
        assert!(listed && web.host_of_page(id) == 0, "{:?}", page.links);
    }
    // A web that does not live has none.
    assert_eq!(SimWeb::open("sim:campus?pages=40").unwrap().answer(&url).status, 404);
}
