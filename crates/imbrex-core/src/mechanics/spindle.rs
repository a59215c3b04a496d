//! Rotation: which angle is under the heads at a time, and when another will be.

/// The platter's angle as a fraction of a turn: `2⁶⁴` is one turn, so arithmetic wraps as the platter does. 0 is the
/// index mark, and angles grow in the order in which sectors pass the head.
pub type Angle = u64;

/// How late the head may be for a sector and still catch it, in ns.
///
/// A completion is the end of a sector rounded to a whole ns, so the sector that follows without a gap may have begun
/// up to half a ns ago. Without slack that rounding would cost a revolution. Catching a late sector does not delay its
/// end (see [`Spindle::pass`]), so the rounding of a long run of contiguous accesses never adds up.
const SLACK_NS: u64 = 4;

/// `fraction` of a turn as an angle; only the part after the decimal point counts. `fraction` is finite and at least 0.
pub(super) fn angle_of(fraction: f64) -> Angle {
    ((fraction - fraction.floor()) * TURN) as u64
}

/// One turn in units of [`Angle`].
const TURN: f64 = 18_446_744_073_709_551_616.0;

/// A spindle at constant speed. At time 0 the index mark is under the heads.
#[derive(Copy, Clone, Debug)]
pub(super) struct Spindle {
    /// [`Angle`] swept per ns.
    speed: u64,
    /// Duration of a turn in 2⁻³² ns.
    turn: u64,
    /// [`SLACK_NS`] as an angle.
    slack: Angle,
}

impl Spindle {
    /// The shortest and the longest turn that is modelled, in ms: 60 000 and 60 turns per minute.
    pub(super) const ROTATION_MS: std::ops::RangeInclusive<f64> = 1.0..=1000.0;

    /// A turn of `rotation_ms`, which is in [`Spindle::ROTATION_MS`].
    pub(super) fn new(rotation_ms: f64) -> Self {
        debug_assert!(Self::ROTATION_MS.contains(&rotation_ms));
        let speed = (TURN / (rotation_ms * 1e6) + 0.5) as u64;
        // Derived from `speed` alone, so that the two directions of the conversion agree to 2⁻³² ns.
        let turn = ((1u128 << 96) / u128::from(speed)) as u64;
        Self { speed, turn, slack: SLACK_NS * speed }
    }

    /// Duration of a turn, in ns, rounded up.
    pub(super) const fn turn_ns(&self) -> u64 {
        self.turn.div_ceil(1 << 32)
    }

    /// The angle under the heads at `now_ns`.
    #[inline]
    pub(super) const fn angle(&self, now_ns: u64) -> Angle {
        now_ns.wrapping_mul(self.speed)
    }

    /// When, after `ready_ns`, an arc that begins at `start` and is `sweep` long has passed under the head.
    ///
    /// `sweep` is longer than the slack: a sector of the densest track that is accepted takes 30 ns.
    #[inline]
    pub(super) const fn pass(&self, ready_ns: u64, start: Angle, sweep: Angle) -> u64 {
        debug_assert!(sweep >= self.slack);
        // Adding the slack before the wrap and subtracting it after turns "just missed" into a small negative wait.
        let ahead = start.wrapping_sub(self.angle(ready_ns)).wrapping_add(self.slack);
        ready_ns + self.duration(ahead as u128 + sweep as u128 - self.slack as u128)
    }

    /// How long after `ready_ns` the angle `start` comes under the head, in ns.
    #[inline]
    pub(super) const fn wait(&self, ready_ns: u64, start: Angle) -> u64 {
        let ahead = start.wrapping_sub(self.angle(ready_ns)).wrapping_add(self.slack);
        self.duration(ahead.saturating_sub(self.slack) as u128)
    }

    /// Time for less than two turns, rounded to the nearest ns.
    #[inline]
    const fn duration(&self, arc: u128) -> u64 {
        ((arc * self.turn as u128 + (1 << 95)) >> 96) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_takes_the_rotation_time() {
        let s = Spindle::new(8.333_333_333);
        assert_eq!(s.pass(0, 0, u64::MAX), 8_333_333);
        assert_eq!(s.wait(0, u64::MAX / 2), 4_166_667);
        let later = 3_600_000_000_000;
        assert!(s.pass(later, s.angle(later), u64::MAX).abs_diff(later + 8_333_333) <= 1);
    }

    #[test]
    fn contiguous_arcs_lose_no_turn_and_gather_no_error() {
        // 3011 divides neither the turn nor a ns; a million contiguous sectors of one track.
        let s = Spindle::new(5.973_120_955);
        let sector = u64::MAX / 3011;
        let mut now = 0;
        for i in 0..1_000_000u64 {
            now = s.pass(now, i.wrapping_mul(sector), sector);
        }
        let ideal = 1e6 / 3011.0 * 5_973_120.955;
        assert!((now as f64 - ideal).abs() < 1.0, "{now} instead of {ideal}");
    }

    #[test]
    fn what_is_missed_by_more_than_the_slack_costs_a_turn() {
        let s = Spindle::new(10.0);
        let late = |ns| s.pass(1000, s.angle(1000 - ns), s.angle(500));
        assert_eq!(late(SLACK_NS - 1), 1500 - (SLACK_NS - 1));
        assert_eq!(late(SLACK_NS + 1), 1500 - (SLACK_NS + 1) + 10_000_000);
        assert_eq!(s.wait(1000, s.angle(999)), 0);
        assert_eq!(s.wait(1000, s.angle(900)), 9_999_900);
    }

    #[test]
    fn fractions_become_angles() {
        assert_eq!(angle_of(0.0), 0);
        assert_eq!(angle_of(3.25), 1 << 62);
        assert_eq!(angle_of(1.0), 0);
    }
}
