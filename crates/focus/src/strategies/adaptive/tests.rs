//! Tests of the whole strategy; its parts are tested where they are.

use crate::testkit::run;

const TOPIC: &str = "query = 'sql'\n[judge]\nthreshold = 0.3\n[strategy]\nkind = 'adaptive'\n";

#[test]
fn before_anything_is_learnt_it_is_a_best_first() {
    // The anchor that names the topic goes first. Its page is relevant, which speaks for its own link and for its siblings
    // (one of one judged): both come before the last.
    let crawl = run("== http://a/\n[soup](/1) [sql](/2)\n== /1\n== /2\nsql sql [more](/4)\n== /4\n", TOPIC);
    assert!(crawl.order().starts_with("/ /2 "), "{}", crawl.order());
}

/// Two lists of links with anchors that say nothing: one leads to good pages, the other never does. After a few of each
/// the good list is preferred, which the prior alone cannot do.
#[test]
fn it_learns_which_list_is_good() {
    let mut web = String::from("== http://a/\n[poor](/p/) [good](/g/)\n== /p/\n");
    (0..20).for_each(|i| web += &format!("[x{i}](/p/{i}) "));
    web += "\n== /g/\n";
    (0..20).for_each(|i| web += &format!("[y{i}](/g/{i}) "));
    (0..20).for_each(|i| web += &format!("\n== /p/{i}\nsoup and bread"));
    (0..20).for_each(|i| web += &format!("\n== /g/{i}\nsql sql sql"));
    web += "\n";
    let found_in = |options: &str| {
        let order = run(&web, &format!("{TOPIC}{options}")).order();
        let first: Vec<&str> = order.split(' ').take(25).collect();
        first.iter().filter(|u| u.starts_with("/g/") && u.len() > 3).count()
    };
    let learning = found_in("");
    let frozen = found_in(
        "learn = false\nhost = false\ndirectory = false\ntag_path = false\nhost_path = false\nshape = false\nsiblings = false\nnear = false\nlist = false\n",
    );
    assert!(learning >= 17, "{learning} of the first 25");
    assert!(learning > frozen, "{learning} with learning, {frozen} without");
}

#[test]
fn it_says_why() {
    let crawl = run("== http://a/\n[sql](/courses/1) [soup](/2)\n== /courses/1\nsql\n== /2\n", TOPIC);
    assert_eq!(crawl.order(), "/ /courses/1 /2");
}
