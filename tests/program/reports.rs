//! Charts and reports in a real browser: numbers on axes, names that do not collide, a cursor for pointer and
//! keys, and reports that open from a file, with hostile text in them. Pictures go to `$GLEANER_PICTURES`
//! (default: `target/tmp/reports`).

use crate::common;
use crate::common::browser::{Browser, pictures};
use crate::common::dashboard::Dashboard;
use crate::common::{crawl, file, finish, folder, run, serve};
use serde_json::{Value, json};
use std::path::Path;

const SIZES: [u32; 3] = [1400, 1024, 390];

/// What the tests ask of every chart on a page.
const CHECKS: &str = r"
window.said = (kind, chart) => [...chart.querySelectorAll('.' + kind)].map((t) => t.textContent);
// Numbers on an axis, without their unit.
window.numbers = (kind, chart) => said(kind, chart).map((t) => +t.replace(/[, %]/g, '').replace('−', '-'));
window.round = (list) => {
  const steps = list.slice(1).map((v, i) => +(v - list[i]).toPrecision(6));
  const first = steps[0] ?? 1;
  const lead = +(first / 10 ** Math.floor(Math.log10(first) + 1e-9)).toPrecision(6);
  return steps.every((s) => s === first) && [1, 2, 5].includes(lead);
};
window.box = (el) => { const b = el.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
window.over = (a, b) => a[0] < b[2] - 1 && b[0] < a[2] - 1 && a[1] < b[3] - 1 && b[1] < a[3] - 1;
window.within = (a, b) => a[0] >= b[0] - 1 && a[1] >= b[1] - 1 && a[2] <= b[2] + 1 && a[3] <= b[3] + 1;
window.faults = (chart) => {
  const out = [];
  for (const kind of ['x-tick', 'y-tick']) {
    const list = numbers(kind, chart);
    if (list.length > 1 && !round(list)) out.push(kind + ' not round: ' + said(kind, chart));
  }
  const texts = [...chart.querySelectorAll('text')].filter((t) => t.textContent);
  texts.forEach((a, i) => {
    if (!within(box(a), box(chart))) out.push('over the edge: ' + a.textContent);
    for (const b of texts.slice(i + 1)) {
      if (over(box(a), box(b))) out.push(a.textContent + ' over ' + b.textContent);
    }
  });
  return out;
};
// The cursor at a share of the width: what it says, and whether it is inside.
window.point = (chart, share) => {
  const b = chart.getBoundingClientRect();
  const at = { clientX: b.left + share * b.width, clientY: b.top + b.height / 2, bubbles: true };
  chart.dispatchEvent(new PointerEvent('pointermove', at));
  const tip = chart.parentElement.querySelector('.tip');
  const dots = chart.querySelectorAll('.cursor .dot').length;
  return { shown: !tip.hidden, inside: within(box(tip), box(chart)), dots, text: tip.innerText };
};
'ready'";

/// Faults of all charts of the page, at the width it has.
#[track_caller]
fn check_charts(b: &mut Browser, what: &str) {
    b.eval(CHECKS);
    let faults = b.eval("[...document.querySelectorAll('.chart')].flatMap(faults)");
    assert_eq!(faults, json!([]), "{what}");
    // The cursor is inside at both edges, with a mark on a line.
    for share in [0.0, 0.5, 1.0] {
        let seen = b.eval(&format!(
            "[...document.querySelectorAll('.chart[role=slider]')].map((c) => point(c, {share}))"
        ));
        for tip in seen.as_array().unwrap() {
            assert_eq!((&tip["shown"], &tip["inside"]), (&json!(true), &json!(true)), "{what}: {tip}");
            assert!(tip["dots"].as_u64() > Some(0), "{what}: {tip}");
        }
    }
    b.eval(
        "document.querySelectorAll('.chart').forEach((c) => c.dispatchEvent(new \
            PointerEvent('pointerleave')))",
    );
    assert_eq!(b.eval("document.querySelectorAll('.tip:not([hidden])').length"), 0, "{what}");
    // Never wider than the screen.
    assert_eq!(b.eval("document.documentElement.scrollWidth <= innerWidth"), true, "{what}");
}

/// axe-core finds nothing serious, where it is there (`last_mile` says when it is not).
#[track_caller]
fn check_access(b: &mut Browser, what: &str) {
    let Some(axe) = std::env::var_os("GLEANER_AXE") else { return };
    b.eval(&format!("{};1", std::fs::read_to_string(axe).unwrap()));
    let bad = b.eval(
        "axe.run(document).then((r) => r.violations.filter((v) => ['serious', \
         'critical'].includes(v.impact)) \
         .map((v) => v.id + ': ' + v.nodes.map((n) => n.target.join(' ')).join(', ')))",
    );
    assert_eq!(bad, json!([]), "{what}");
}

/// The page in all sizes, light and dark; charts are drawn for each.
#[track_caller]
fn look_at(b: &mut Browser, name: &str, ready: &str) {
    for width in SIZES {
        for dark in [false, true] {
            b.size(width, 900);
            b.dark(dark);
            b.wait(ready);
            // Drawn again for this width; what is hidden is not drawn.
            b.wait(
                "[...document.querySelectorAll('.chart')].every((c) => !c.clientWidth || \
                    +c.getAttribute('viewBox')?.split(' ')[2] === c.clientWidth)",
            );
            b.wait(&format!(
                "document.documentElement.dataset.theme === '{}'",
                if dark { "dark" } else { "light" }
            ));
            let shade = if dark { "dark" } else { "light" };
            check_charts(b, &format!("{name} {width} {shade}"));
            b.picture(&pictures("reports").join(format!("{name}-{width}-{shade}.png")));
            check_access(b, &format!("{name} {width} {shade}"));
        }
    }
    b.dark(false);
    b.size(1280, 900);
}

fn address(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// A small crawl of the demo web, into a folder of this name.
fn demo(dir: &Path, web: &common::DemoServer, topic: &Path, name: &str, pages: &str) {
    let mut command = common::gleaner();
    command.arg("crawl").arg(topic).arg("--out").arg(dir.join(name)).args([
        "--resolve",
        &web.resolve(),
        "--allow-private",
        "--delay",
        "1ms",
        "--quiet",
        "--pages",
        pages,
    ]);
    for seed in madeup::SEEDS {
        command.args(["--seed", seed]);
    }
    finish(&mut command).ok();
}

#[test]
fn charts_can_be_read_at_every_width_and_without_a_mouse() {
    let Some(mut b) = Browser::start() else { return };
    let dir = folder();
    let web = common::DemoServer::start(&dir.path().join("log"), None);
    let topic = file(dir.path(), "topic.toml", &format!("{}{}", madeup::TOPIC, madeup::STRICT));
    demo(dir.path(), &web, &topic, "one", "75");
    demo(dir.path(), &web, &topic, "two", "150");
    let other = format!("{}{}", madeup::TOPIC, madeup::STRICT).replacen("Syllabi", "Other syllabi", 1);
    let other = file(dir.path(), "other.toml", &other);
    demo(dir.path(), &web, &other, "three", "40");
    let tried = dir.path().join("tried");
    run([
        "backtest",
        "--web",
        "sim:campus?pages=200",
        "--strategies",
        "breadth-first,best-first,adaptive,shark",
        "--out",
        tried.to_str().unwrap(),
    ])
    .ok();
    let d = Dashboard::start(dir.path(), &[]);
    b.open(&d.url);
    b.wait("document.querySelectorAll('.shelf a.card').length === 3");

    b.eval("location.hash = '#/c/one/overview'");
    b.wait("document.querySelector('.chart .c0')");
    look_at(&mut b, "overview", "document.querySelectorAll('.chart .c0').length > 1");
    // Counts are whole, in the axis and beside the point.
    b.eval(CHECKS);
    let whole = b.eval("numbers('y-tick', document.querySelector('.chart')).every(Number.isInteger)");
    assert_eq!(whole, true);
    let tip = b.eval("point(document.querySelector('.chart'), 0.61).text").as_str().unwrap().to_string();
    assert!(tip.contains("pages fetched") && !tip.contains('.'), "{tip}");
    // From the keyboard: the value is said, and Escape lets go.
    b.eval("document.querySelector('.chart[role=slider]').focus()");
    b.key("End");
    let value = |b: &mut Browser| {
        b.eval("document.querySelector('.chart[role=slider]').getAttribute('aria-valuetext')").to_string()
    };
    let last = value(&mut b);
    assert!(last.contains("75 pages fetched"), "{last}");
    b.key("ArrowLeft");
    let before = value(&mut b);
    assert!(before != last && before.contains("pages fetched"), "{before}");
    b.key("Home");
    assert_ne!(value(&mut b), before);
    b.key("Escape");
    assert_eq!(b.eval("document.querySelectorAll('.tip:not([hidden])').length"), 0);
    // For readers who do not see it: a sentence, and a few points.
    let label = b.eval("document.querySelector('.chart').getAttribute('aria-label')").to_string();
    assert!(label.contains("At the end: "), "{label}");
    let more = b.eval("document.getElementById(document.querySelector('.chart').getAttribute('aria-describedby')).textContent");
    assert!(more.as_str().unwrap().contains(" pages fetched: "), "{more}");

    // Crawls by title; two of the same title by their folder too.
    b.eval("location.hash = '#/compare'");
    let ready = "document.querySelectorAll('.chart .c2').length > 1";
    b.wait(ready);
    look_at(&mut b, "compare", ready);
    b.eval(CHECKS);
    let chips = b.eval("[...document.querySelectorAll('.chip')].map((c) => c.innerText.trim()).sort()");
    let chips: Vec<&str> = chips.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(
        chips,
        [
            "Other syllabi of database courses",
            "Syllabi of database courses (one)",
            "Syllabi of database courses (two)"
        ]
    );
    // Names beside the lines where there is room, below them on a phone.
    b.wait("said('name', document.querySelectorAll('.chart')[1]).length === 4");
    b.size(390, 844);
    b.wait("document.querySelectorAll('.chart')[1].parentElement.nextElementSibling.children.length === 4");
    assert_eq!(b.eval("said('name', document.querySelectorAll('.chart')[1]).length"), 0);
    assert!(b.text().contains("One draw: add `--rng 0..4`"), "{}", b.text());
    assert!(b.complaints.is_empty(), "{:#?}", b.complaints);

    // The crawl's report and the backtest's: the same charts, from a file.
    b.size(1280, 900);
    b.open(&address(&dir.path().join("two/report.html")));
    look_at(&mut b, "crawl-report", "document.querySelectorAll('main .chart').length === 3");
    let text = b.text();
    for part in [
        "page limit reached (150)",
        "150 (command line)",
        "Gleaner 0.",
        " UTC",
        "4 seeds",
        madeup::SEEDS[0],
        "adaptive (default)",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let settings = b.eval("[...document.querySelectorAll('details')].map((d) => d.textContent).join('\\n')");
    assert!(settings.as_str().unwrap().contains("[limits]") && !settings.to_string().contains("resolve"));
    // The archived copies are where the links say.
    let copies =
        b.eval("[...document.querySelectorAll('a[href^=\"warc/\"]')].map((a) => a.getAttribute('href'))");
    let copies = copies.as_array().unwrap();
    assert!(!copies.is_empty());
    for copy in copies {
        assert!(dir.path().join("two").join(copy.as_str().unwrap()).is_file(), "{copy}");
    }
    b.open(&address(&tried.join("report.html")));
    look_at(&mut b, "backtest-report", "document.querySelectorAll('main .chart').length >= 5");
    let text = b.text();
    assert!(text.contains("One draw: add --rng 0..4") && !text.contains("sign test p"), "{text}");
    // A table is sorted by its head.
    b.click("#numbers th:nth-child(1) button");
    assert_eq!(b.eval("document.querySelector('#numbers tbody td').textContent"), "shark");
    assert!(b.complaints.is_empty(), "{:#?}", b.complaints);
}

/// Text that would run or end a script if anything took it for markup.
const HOSTILE: &str = "\
== http://a.test/
<title>&lt;/script&gt;&lt;script&gt;alert('title')&lt;/script&gt;&lt;!--</title>
<p>sql syllabus</p>
<a href='/b?q=&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;'>&lt;img src=x onerror=alert(2)&gt;&lt;!-- sql</a>
<a href='/c'>sql \u{202e}syllabus</a>
== http://a.test/b?q=%3C/script%3E%3Cscript%3Ealert(1)%3C/script%3E
<title>&lt;!--&lt;script&gt; &lt;svg onload=alert(3)&gt;</title><p>sql syllabus</p>
== http://a.test/c
<title></title><p>sql syllabus</p>
";

#[test]
fn a_report_opens_from_a_file_and_runs_nothing_of_others() {
    let Some(mut b) = Browser::start() else { return };
    let dir = folder();
    let server = serve(HOSTILE);
    let name = "</script><script>alert(4)</script><!--";
    let topic = format!(
        "name = \"{name}\"\n[content]\nterms = ['sql', '</pre><img src=x onerror=alert(5)>']\n[judge]\n\
         threshold = 0.1\n\
         [fetch]\ndelay = '1ms'\n"
    );
    let topic = file(dir.path(), "topic.toml", &topic);
    let out = dir.path().join("db");
    finish(crawl(&server, &topic, &out).args(["--seed", "http://a.test/", "--quiet"])).ok();
    // A web whose name is markup: its backtest has that name in its title and in its data.
    let tried = dir.path().join("tried");
    let list = "breadth-first,best-first";
    run(["backtest", "--web", "sim:campus?pages=60", "--strategies", list, "--out", tried.to_str().unwrap()])
        .ok();
    for report in [out.join("report.html"), tried.join("report.html")] {
        b.open(&address(&report));
        b.wait("document.querySelector('main .chart path')");
        let strange =
            "main img, main script, main iframe, main svg:not(.chart), [onerror], [onload], [onclick]";
        assert_eq!(b.eval(&format!("document.querySelectorAll('{strange}').length")), 0);
        let links = "[...document.querySelectorAll('a')].map((a) => a.protocol)";
        let odd = b.eval(&format!("{links}.filter((p) => !['http:', 'https:', 'file:'].includes(p)).length"));
        assert_eq!(odd, 0);
        assert!(b.complaints.is_empty(), "{:#?}", b.complaints);
    }
    b.open(&address(&out.join("report.html")));
    b.wait("document.querySelector('main .chart path')");
    assert_eq!(b.eval("document.querySelector('h1').textContent"), name);
    assert!(b.text().contains("</script><script>alert('title')</script><!--"), "{}", b.text());
    // Even markup that got in would not run: the policy knows our scripts by their digests.
    b.eval(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; \
         document.body.append(s); })()",
    );
    assert_eq!(b.eval("window.ran === undefined"), true);
    b.complaints.retain(|c| !c.contains("Content Security Policy"));
    assert!(b.complaints.is_empty(), "{:#?}", b.complaints);
    // Without scripts there are the same numbers as tables.
    let html = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert_eq!(
        html.matches("<details open><summary>The numbers</summary><div class=\"scroll\"><table>").count(),
        3
    );
}
