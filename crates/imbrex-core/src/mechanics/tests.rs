use super::*;

/// 2 heads, 10 cylinders of 100 and 10 of 50 sectors, one unused cylinder between; a turn takes 10 ms.
fn small() -> Mechanics {
    let zone = |first_cylinder, sectors_per_track| RecordingZone {
        first_cylinder,
        cylinders: 10,
        sectors_per_track,
        track_skew_sectors: sectors_per_track / 10,
        cylinder_skew_sectors: sectors_per_track / 5,
    };
    let spec = MechanicsSpec {
        rpm: None,
        rotation_ms: Some(10.0),
        heads: 2,
        head_switch_ms: 0.75,
        write_settle_ms: 0.25,
        seek: SeekSpec::Table { rows: vec![(1, 1.5), (20, 11.0)] },
        layout: LayoutSpec::CylinderMajor {},
        recording: RecordingSpec::Listed { zones: vec![zone(0, 100), zone(11, 50)] },
    };
    spec.build(3000).unwrap()
}

const MS: u64 = 1_000_000;

#[test]
fn sectors_lie_where_the_layout_says() {
    let m = small();
    let place = |sector| {
        let l = m.locate(sector);
        (l.cylinder, l.head, l.sector, l.sectors_per_track)
    };
    assert_eq!((m.sectors(), m.cylinders()), (3000, 21));
    assert_eq!(place(0), (0, 0, 0, 100));
    assert_eq!(place(199), (0, 1, 99, 100));
    assert_eq!(place(1999), (9, 1, 99, 100));
    assert_eq!(place(2000), (11, 0, 0, 50));
    assert_eq!(place(2999), (20, 1, 49, 50));
}

#[test]
fn skew_hides_the_head_switch_and_the_cylinder_seek() {
    let mut m = small();
    // A track, a tenth of a turn of skew, a track, a fifth of a turn, a track.
    assert_eq!(m.access(0, 0, 300, false), 33 * MS);
    // The settling of a write still fits: 0.75 + 0.25 and 1.5 + 0.25 ms.
    m.reset();
    assert_eq!(m.access(0, 0, 300, true), 33 * MS);
}

#[test]
fn one_access_takes_as_long_as_its_pieces() {
    let mut whole = small();
    let mut pieces = small();
    let end = whole.access(123, 7, 2900, true);
    let mut now = 123;
    for sector in 7..2907 {
        now = pieces.access(now, sector, 1, true);
    }
    assert!(now.abs_diff(end) <= 1, "{now} {end}");
}

#[test]
fn an_access_seeks_settles_waits_and_transfers() {
    let mut m = small();
    // Cylinder 5, head 0, sector 0: angle 5 · (1·10 + 20) / 100 = 1.5 turns. Seek 1.5 + 4·0.5 = 3.5 ms, so the wait is
    // 1.5 ms; a sector takes 0.1 ms.
    assert_eq!(m.positioning_ns(0, 1000, false), 5 * MS);
    assert_eq!(m.access(0, 1000, 1, false), 5 * MS + MS / 10);
    // No seek and no settling: the same sector comes round again, idle time or not.
    assert_eq!(m.access(5 * MS + MS / 10, 1000, 1, true), 15 * MS + MS / 10);
    assert_eq!(m.access(93 * MS, 1000, 1, true), 95 * MS + MS / 10);
    // The other head, a tenth of a turn later.
    assert_eq!(m.positioning_ns(95 * MS + MS / 10, 1100, false), 9 * MS / 10);
    assert_eq!(m.positioning_ns(95 * MS + MS / 10, 1100, true), 10 * MS + 9 * MS / 10);
}

#[test]
fn positioning_agrees_with_access() {
    let mut m = small();
    let mut now = 0;
    for i in 0..10_000u64 {
        let (sector, write) = (i * 7919 % 3000, i % 3 == 0);
        let transfer = 10 * MS / u64::from(m.locate(sector).sectors_per_track);
        let begin = now + m.positioning_ns(now, sector, write);
        now = m.access(now, sector, 1, write);
        assert!(now.abs_diff(begin + transfer) <= 5);
    }
}

#[test]
fn the_head_travels_from_access_to_access() {
    let mut m = small();
    let far = m.locate(m.sectors() - 1).cylinder;
    assert!(far > 1);
    let at = |cylinder: u32| (0..3000).find(|sector| small().locate(*sector).cylinder == cylinder).unwrap();
    m.access(0, at(far), 1, false);
    assert!(m.positioning_ns(0, at(0), false) > 0);
    m.access(0, at(far), 1, true);
    m.access(0, at(1), 1, true);
    assert_eq!(m.travelled(), u64::from(far + far - 1));
}

#[test]
fn an_empty_access_does_nothing() {
    let mut m = small();
    assert_eq!(m.access(77, 3000, 0, true), 77);
}

#[test]
fn serpentine_sections_turn_back_at_each_head() {
    let spec = MechanicsSpec {
        layout: LayoutSpec::Serpentine {
            group_cylinders: 6,
            section_tracks: 3,
            track_skew_rev: 0.25,
            group_skew_rev: 0.5,
        },
        rpm: Some(6000.0),
        rotation_ms: None,
        heads: 2,
        head_switch_ms: 1.0,
        write_settle_ms: 0.0,
        seek: SeekSpec::Table { rows: vec![(1, 1.0)] },
        recording: RecordingSpec::Listed {
            zones: vec![RecordingZone {
                first_cylinder: 0,
                cylinders: 12,
                sectors_per_track: 10,
                track_skew_sectors: 0,
                cylinder_skew_sectors: 0,
            }],
        },
    };
    let m = spec.build(240).unwrap();
    let tracks: Vec<_> = (0..13).map(|t| (m.locate(t * 10).cylinder, m.locate(t * 10).head)).collect();
    let first_pass = [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1)];
    let second_pass = [(3, 1), (4, 1), (5, 1), (5, 0), (4, 0), (3, 0)];
    assert_eq!(tracks[..6], first_pass);
    assert_eq!(tracks[6..12], second_pass);
    assert_eq!(tracks[12], (6, 0));
    let quarter = 1u64 << 62;
    assert_eq!([0, 10, 30, 120, 130].map(|s| m.locate(s).angle), [0, quarter, 0, 2 * quarter, 3 * quarter]);
}
