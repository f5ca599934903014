//! Streams that come one byte at a time, on every wire.

use chock_provider::{Anthropic, Endpoint, Model};

use crate::bench::{KEY, Key, context, endpoint, model, play};
use crate::fake::Fake;
use crate::responses::{with_account, with_key};

type Make<'a> = &'a dyn Fn(&Fake) -> Box<dyn Model>;

#[test]
fn every_wire_reads_one_byte_at_a_time() {
    let messages = |fake: &Fake, version: Option<&str>| {
        let (effort, api_version) = (Some("high".to_owned()), version.map(str::to_owned));
        let endpoint = Endpoint { effort, api_version, ..endpoint(&fake.base_url()) };
        Anthropic::new(endpoint, Box::new(Key)).unwrap()
    };
    let makes: [Make<'_>; 5] = [
        &|fake| Box::new(model(endpoint(&fake.base_url()))),
        &|fake| Box::new(messages(fake, None)),
        &|fake| Box::new(messages(fake, Some("2026-10-21"))),
        &|fake| Box::new(with_key(fake)),
        &|fake| Box::new(with_account(fake)),
    ];
    for (wire, make) in makes.iter().enumerate() {
        let plain: &[&str] = &[];
        for (scenario, quirks, words) in [
            ("01", plain, "日本語"),
            ("04", &["--quirk", "crlf", "--quirk", "no_space"], "was replayed unchanged."),
        ] {
            let options = [&["--key", KEY, "--pieces", "1"], quirks].concat();
            let fake = Fake::start(scenario, &options);
            let said = play(&mut *make(&fake), &mut context("go"));
            let last = said.last().unwrap().message.text();
            assert!(said.len() == 4 && last.contains(words), "{wire} {scenario}: {last}");
            fake.assert_finished();
        }
    }
}
