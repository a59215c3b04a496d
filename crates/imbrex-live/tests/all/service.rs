//! A volume that is served answers those who ask how it is, cleans when it is told to, and measures itself.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex_live::engine::Cleaning;
use imbrex_live::service::control::{AskError, Question, Reply, ask};
use imbrex_live::service::{Client, EventKind, Service, ServiceOptions, Status};
use imbrex_live::store_path;
use imbrex_live::volume::{self, FormatOptions};
use tempfile::TempDir;

/// A volume with a buffer that is emptied only on request, in steps of few blocks.
fn formatted(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("a.img");
    let preset = DrivePreset::named("small-zoned").unwrap().with_capacity(128 << 20).unwrap();
    let mut prepared = store_path::prepare(&path, Some(&preset), false).unwrap();
    let config: toml::Table = "step_blocks = 64".parse().unwrap();
    let layer = layers::find("fifo-log").unwrap();
    let options = FormatOptions { layer, config: &config, buffer: None, journal_blocks: None, map_memory: None };
    prepared.make().unwrap();
    volume::format(vec![prepared.store()], &options).unwrap();
    prepared.keep();
    path
}

fn options(store: &Path) -> ServiceOptions {
    let mut options = ServiceOptions { control: Some(store.with_extension("control")), ..ServiceOptions::default() };
    options.stores.push(store.to_owned());
    options.engine.idle_after = Duration::from_secs(3600);
    options
}

/// How the volume stands now: a busy machine may have told how it stood before.
fn status(control: &Path, question: Question) -> Status {
    let mut answer = ask(control, question).unwrap();
    loop {
        match answer {
            Reply::Status(status) if status.age_ms == 0.0 => return *status,
            Reply::Status(_) => answer = ask(control, Question::Status).unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

/// Why the server does not do what it is asked for.
fn refusal(control: &Path, question: Question) -> String {
    match ask(control, question).unwrap_err() {
        AskError::Refused(why) => why,
        silent => panic!("{silent}"),
    }
}

/// Fills the buffer with blocks here and there.
fn scatter(service: &Service) {
    for block in 0..400_u64 {
        service.engine().write_bytes(0, block * 61 % 20_000 * 4096, &[block as u8; 4096]).unwrap();
    }
    service.engine().flush(0).unwrap();
}

#[test]
fn it_says_how_it_stands_and_cleans_when_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(&formatted(&folder));
    let control = options.control.clone().unwrap();
    drop(UnixListener::bind(&control).unwrap());
    let service = Arc::new(Service::start(&options).unwrap());
    let answering = service.answer(&options).unwrap();
    assert_eq!(std::fs::metadata(&control).unwrap().permissions().mode() & 0o777, 0o600);
    scatter(&service);

    let before = status(&control, Question::Status);
    assert_eq!((before.layer.as_str(), before.traffic.host_written), ("fifo-log", 400 * 4096));
    assert!(before.write_amplification.unwrap() > 1.0);
    assert!((1 << 20..1 << 32).contains(&before.resident_bytes.unwrap()));
    let memory = before.memory.unwrap();
    assert!(memory.empty_bytes < memory.most_bytes && memory.most_bytes < 1 << 30, "{memory:?}");
    // Whether what is resident stays below is seen where a server has a process to itself: `checks/nbd/server.sh`.
    assert_eq!(before.latency["write"].all.count, 400);
    assert_eq!(before.latency["flush"].all.count, 1);
    let buffered = before.runners[0].used_blocks.unwrap();
    assert!(buffered > 300 && before.runners[0].journal_used > 0);
    assert_eq!((before.cleaning.state.as_str(), before.cleaning.steps), ("when-idle", 0));

    service.engine().set_cleaning(Cleaning::Now);
    let mut after = status(&control, Question::Throttle { percent: 90 });
    while after.cleaning.state == "now" {
        std::thread::sleep(Duration::from_millis(5));
        after = status(&control, Question::Status);
    }
    assert_eq!((after.runners[0].used_blocks, after.cleaning.throttle), (Some(0), 90));
    assert!(after.cleaning.steps > 10 && after.cleaning.longest_ms > 0.0);
    assert!((8..=64).contains(&after.cleaning.bound_blocks.unwrap()), "{:?}", after.cleaning);
    let emptied = ["rmw", "rmw_free"].iter().filter_map(|event| after.events.get(*event)).sum::<u64>();
    assert!(emptied > 10, "{:?}", after.events);
    assert!(after.moved_blocks["destage"] + after.moved_blocks.get("collect").unwrap_or(&0) >= buffered);
    assert_eq!(status(&control, Question::Pause).cleaning.state, "paused");
    assert_eq!(status(&control, Question::Resume).cleaning.state, "when-idle");
    assert!(refusal(&control, Question::Throttle { percent: 0 }).contains("1 to 100"));

    drop(answering);
    assert!(!control.exists());
    let silent = ask(&control, Question::Status).unwrap_err();
    assert!(
        matches!(silent, AskError::NoServer { .. }) && silent.to_string().contains("no server answers"),
        "{silent}"
    );
    service.stop().unwrap();
}

#[test]
fn what_happened_is_remembered_for_those_who_ask_later() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(&formatted(&folder));
    let service = Arc::new(Service::start(&options).unwrap());
    let _answering = service.answer(&options).unwrap();
    let control = options.control.as_deref().unwrap();
    let events = || match ask(control, Question::Events).unwrap() {
        Reply::Events(events) => events,
        other => panic!("{other:?}"),
    };
    assert_eq!(events().iter().map(|event| event.event).collect::<Vec<_>>(), [EventKind::Serving]);
    let client = Client::of(&service);
    scatter(&service);
    assert_eq!(status(control, Question::Status).clients, 1);
    assert_eq!(events()[0].text, "1 client connected (now 1)");
    drop(client);
    service.engine().set_cleaning(Cleaning::Now);
    while service.engine().cleaning() == Cleaning::Now {
        std::thread::sleep(Duration::from_millis(5));
    }
    status(control, Question::Pause);
    let all = events();
    for kind in [EventKind::CleaningBegan, EventKind::CleaningSet, EventKind::ClientsDisconnected] {
        assert!(all.iter().any(|event| event.event == kind), "{kind:?} is not in {all:?}");
    }
    assert!(all.is_sorted_by(|newer, older| newer.at_ms >= older.at_ms), "{all:?}");
    assert_eq!(serde_json::to_value(EventKind::CleaningSet).unwrap(), "cleaning-set");
    service.stop().unwrap();
}

#[test]
fn every_question_has_an_answer_and_nonsense_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(&formatted(&folder));
    let service = Arc::new(Service::start(&options).unwrap());
    let _answering = service.answer(&options).unwrap();
    scatter(&service);
    let control = options.control.as_deref().unwrap();
    // A client that says nothing keeps no other waiting for long.
    let _silent = UnixStream::connect(control).unwrap();
    let said = |question: &str| {
        let mut stream = UnixStream::connect(control).unwrap();
        stream.write_all(question.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        line
    };
    assert!(said("{\"ask\":\"status\"}\n").starts_with("{\"ok\":{\"status\":{\"schema\":\"imbrex.status/1\""));
    assert!(said("{\"ask\":\"grow\",\"bytes\":4097}\n").contains("choose one that converts zones, on a hybrid drive"));
    assert!(said("{\"ask\":\"weather\"}\n").starts_with("{\"error\":\"that is no question"));
    assert!(said("nonsense\n").starts_with("{\"error\""));

    assert!(said("{\"ask\":\"units\"}\n").starts_with("{\"ok\":{\"units\":[{"));
    assert!(
        said("{\"ask\":\"web\",\"restarts\":2,\"refused\":7}\n").contains("{\"web\":{\"restarts\":2,\"refused\":7}}")
    );
    let Ok(Reply::Metrics(told)) = ask(control, Question::Metrics) else { panic!("no metrics") };
    for line in [
        "imbrex_host_written_bytes_total 1638400",
        "imbrex_request_seconds_count{kind=\"write\"} 400",
        "imbrex_request_seconds_bucket{kind=\"write\",le=\"+Inf\"} 400",
        "imbrex_cleaning_state{state=\"when-idle\"} 1",
        "imbrex_cleaning_step_limit_seconds 0.1",
        "imbrex_cleaning_step_bound_bytes 262144",
        "imbrex_service_restarts_total{service=\"web\"} 2",
        "imbrex_service_refused_connections_total{service=\"web\"} 7",
    ] {
        assert!(told.contains(line), "{line} is not in {told}");
    }
}

#[test]
fn clients_that_ask_nothing_are_refused_when_there_are_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(&formatted(&folder));
    let service = Arc::new(Service::start(&options).unwrap());
    let _answering = service.answer(&options).unwrap();
    let control = options.control.as_deref().unwrap();
    let silent: Vec<_> = (0..200).map(|_| UnixStream::connect(control).unwrap()).collect();
    // The clients that were let in are sent away one after another for saying nothing.
    let status = loop {
        if let Ok(Reply::Status(status)) = ask(control, Question::Status) {
            break status;
        }
    };
    assert!(status.services["control"].refused > 0, "{:?}", status.services);
    drop(silent);
    service.stop().unwrap();
}

#[test]
fn what_is_only_read_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let store = formatted(&folder);
    let mut options = options(&store);
    let service = Service::start(&options).unwrap();
    scatter(&service);
    service.stop().unwrap();
    drop(service);
    let before = std::fs::read(&store).unwrap();
    options.read_only = true;
    let service = Arc::new(Service::start(&options).unwrap());
    let answering = service.answer(&options).unwrap();
    let mut block = [0; 4096];
    service.engine().read_bytes(0, 61 * 4096, &mut block).unwrap();
    assert_eq!(block, [1; 4096]);
    assert!(refusal(options.control.as_deref().unwrap(), Question::Clean).contains("only read"));
    drop(answering);
    service.stop().unwrap();
    assert!(before == std::fs::read(&store).unwrap());
}

#[test]
fn a_cache_that_is_only_read_is_not_filled() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = ServiceOptions::default();
    let drive = |name: &str, mib: u64| DrivePreset::named(name).unwrap().with_capacity(mib << 20).unwrap();
    let mut members = Vec::new();
    for (name, preset) in [("flash.img", drive("ssd-pore", 256)), ("disk.img", drive("small-banded", 64))] {
        let path = folder.path().join(name);
        let mut prepared = store_path::prepare(&path, Some(&preset), false).unwrap();
        prepared.make().unwrap();
        members.push(prepared.store());
        prepared.keep();
        options.stores.push(path);
    }
    let (layer, config) = (layers::find("lru-cache").unwrap(), toml::Table::new());
    volume::format(
        members,
        &FormatOptions { layer, config: &config, buffer: None, journal_blocks: None, map_memory: None },
    )
    .unwrap();
    options.read_only = true;
    options.overlay_bytes = 1 << 20;
    let service = Service::start(&options).unwrap();
    let mut part = vec![1; 1 << 20];
    for mib in 0..service.bytes() >> 20 {
        service.engine().read_bytes(0, mib << 20, &mut part).unwrap();
        assert!(part.iter().all(|byte| *byte == 0));
    }
    service.stop().unwrap();
}

#[test]
fn a_step_that_is_too_long_is_counted_and_makes_the_next_ones_small() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(&formatted(&folder));
    options.engine.step_limit = Some(Duration::ZERO);
    let service = Service::start(&options).unwrap();
    scatter(&service);
    service.engine().set_cleaning(Cleaning::Now);
    while service.engine().cleaning() == Cleaning::Now {
        std::thread::sleep(Duration::from_millis(5));
    }
    let cleaning = service.status().cleaning;
    assert!(cleaning.steps > 0 && cleaning.over_limit == cleaning.steps && cleaning.limit_ms == Some(0.0));
    assert_eq!(cleaning.bound_blocks, Some(8));
    service.stop().unwrap();
}

#[test]
fn a_question_that_comes_byte_by_byte_holds_up_neither_others_nor_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(&formatted(&folder));
    let service = Arc::new(Service::start(&options).unwrap());
    let answering = service.answer(&options).unwrap();
    let control = options.control.clone().unwrap();
    // Longer than the longest question: a server that reads all of it has waited for the slow client.
    let slow = || {
        let mut stream = UnixStream::connect(&control).unwrap();
        std::thread::spawn(move || {
            let send = |_: &usize| stream.write_all(b"x").is_ok();
            let pause = |_: &usize| std::thread::sleep(Duration::from_millis(5));
            (0..8192).take_while(send).inspect(pause).count()
        })
    };
    assert!(slow().join().unwrap() < 4096, "it is read to its end");
    let at_the_end = slow();
    let silent = UnixStream::connect(&control).unwrap();
    status(&control, Question::Status);
    drop(answering);
    assert!(at_the_end.join().unwrap() < 4096, "the end waits for it");
    drop(silent);
    service.stop().unwrap();
}
