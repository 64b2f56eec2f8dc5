//! What of an expression is translated, and what refused.

use super::*;

fn translated(text: &str) -> String {
    match parse(text).unwrap() {
        Expression::Times(times) => times.cron.as_str().to_owned(),
        Expression::Every(interval) => format!("{interval:?}"),
    }
}

#[test]
fn what_the_original_reads_otherwise_is_translated() {
    for (text, expected) in [
        ("0 22 * * TUE", "0 22 * * 2"),
        ("0 22 ? JAN,feb ?", "0 22 * 1,2 *"),
        // A value with a step is a range to the end.
        ("50/5 20/2 * * 4/2", "50,55 20,22 * * 4,6"),
        // A step of one is no step; a greater one is a restriction.
        ("*/1 22 */1 * 5", "* 22 * * 5"),
        ("0 22 */15 * 5", "0 22 1,16,31 * 5"),
        // One star among others is one for all.
        ("0 22 13,* * 5", "0 22 * * 5"),
        ("0 22 ,1,,15, * *", "0 22 1,15 * *"),
        ("0 22 * * 7", "0 22 * * 0"),
        ("0 22 * * 5-7", "0 22 * * 0,5,6"),
        ("0 22 * * FRI-SUN", "0 22 * * 0,5,6"),
        ("0 22 * * 0-7", "0 22 * * 0,1,2,3,4,5,6"),
        ("0 22 * * 7/2", "0 22 * * 0"),
        ("0 22 031 012 *", "0 22 31 12 *"),
        ("@weekly", "0 0 * * 0"),
        ("@midnight", "0 0 * * *"),
    ] {
        assert_eq!(translated(text), expected, "{text}");
    }
    assert_eq!(
        parse("@every 36h30m0.9s").unwrap(),
        Expression::Every(SignedDuration::from_mins(36 * 60 + 30))
    );
    assert_eq!(
        parse("@every 1ms").unwrap(),
        Expression::Every(SignedDuration::from_secs(1))
    );
}

#[test]
fn what_the_original_refuses_is_refused_with_what_to_write() {
    for (text, words) in [
        ("", "must have five fields"),
        ("0 22 * *", "must have five fields"),
        ("0 0 22 * * 2", "must have five fields"),
        ("60 22 * * *", "minute \"60\" in cron must be from 0 to 59"),
        ("0 24 * * *", "hour \"24\""),
        ("0 22 0 * *", "day of month \"0\""),
        ("0 22 * 13 *", "month \"13\""),
        ("0 22 * JANFEB *", "month \"JANFEB\""),
        ("0 22 * * 8", "day of week \"8\""),
        ("0 22 * * 5#2", "day of week \"5#2\""),
        ("0 22 L * *", "day of month \"L\""),
        ("0 22 20-10 * *", "day of month \"20-10\""),
        ("0 22 * * 5-1", "day of week \"5-1\""),
        ("0 22 */0 * *", "day of month \"*/0\""),
        ("0 22 1-2-3 * *", "day of month \"1-2-3\""),
        (", 22 * * *", "minute \",\""),
        ("+5 22 * * *", "minute \"+5\""),
        ("@fortnightly", "@yearly"),
        ("@Weekly", "@yearly"),
        ("@every", "@yearly"),
        ("@every day", "@every"),
        ("@every -36h", "@every"),
        ("0 22 30 2 *", "never occurs"),
        ("0 22 31 2,4,6,9,11 ?", "never occurs"),
    ] {
        let refusal = parse(text).unwrap_err().to_string();
        assert!(refusal.contains(words), "{text}: {refusal}");
    }
}

#[test]
fn a_zone_in_front_is_split_off() {
    for (text, zone, rest) in [
        (" 0 22 * * 2 ", None, "0 22 * * 2"),
        (
            "CRON_TZ=America/New_York 0 22 * * 2",
            Some("America/New_York"),
            "0 22 * * 2",
        ),
        ("TZ=UTC   @daily", Some("UTC"), "@daily"),
        ("TZ= @daily", Some(""), "@daily"),
        ("TZ=UTC", Some("UTC"), ""),
    ] {
        assert_eq!(split_zone(text), (zone, rest), "{text}");
    }
}
