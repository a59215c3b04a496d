//! The plan that a layer in Python appends to.

use imbrex::block::Extent;
use imbrex::event::Counter;
use imbrex::plan::{Event, Place, Plan, Unit, Why};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::place::{block, place};
use super::record::record_of;

/// An ordered list of operations, to which a layer appends.
#[pyclass(module = "imbrex", name = "Plan")]
#[derive(Default)]
pub struct PyPlan {
    plan: Plan,
    /// What the layer counts of its own.
    counters: &'static [Counter],
}

impl PyPlan {
    /// One that a layer with these counters of its own appends to.
    pub fn of(counters: &'static [Counter]) -> Self {
        Self { plan: Plan::new(), counters }
    }

    /// Moves all operations to the end of another plan.
    pub fn drain_to(&mut self, plan: &mut Plan) {
        self.plan.ops().iter().for_each(|op| plan.push(*op));
        self.plan.clear();
    }
}

#[pymethods]
impl PyPlan {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __len__(&self) -> usize {
        self.plan.ops().len()
    }

    fn __repr__(&self) -> String {
        format!("Plan({:?})", self.plan.ops())
    }

    /// Copies blocks, for a reason: `host`, `collect`, `destage`, `swap`, `migrate`, `neighbour`, `pad`, `metadata` or
    /// `promote`. With `redo` the content is safe in the journal before the target is overwritten.
    #[pyo3(signature = (source, target, blocks, why = "host", redo = false))]
    fn copy(
        &mut self,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        blocks: u32,
        why: &str,
        redo: bool,
    ) -> PyResult<()> {
        let (source, target, why) = (place(source)?, place(target)?, reason(why)?);
        if blocks == 0 {
            return Err(PyValueError::new_err("a copy is of at least one block"));
        }
        if matches!(target, Place::Zero | Place::Lost) {
            return Err(PyValueError::new_err("ZERO and LOST are sources, and nothing is copied to them"));
        }
        [source, target].into_iter().try_for_each(|end| fits(end, blocks))?;
        if redo {
            self.plan.redo_copy(source, target, blocks, why);
        } else {
            self.plan.copy(source, target, blocks, why);
        }
        Ok(())
    }

    /// Notes a change of the map, which the layer has applied to itself.
    #[pyo3(signature = (record, redo = false))]
    fn record(&mut self, record: &Bound<'_, PyAny>, redo: bool) -> PyResult<()> {
        let record = record_of(record)?;
        if redo {
            self.plan.redo_record(record);
        } else {
            self.plan.record(record);
        }
        Ok(())
    }

    /// Empties a unit: a zone or an erase block. It takes effect when every record before it is durable, and then
    /// `freed` is called.
    fn reset(&mut self, unit: u32) {
        self.plan.reset(Unit::disk(unit));
    }

    /// Says that nothing of the layer's is in these blocks any more. It takes effect like a reset.
    fn free(&mut self, start: u64, blocks: u32) -> PyResult<()> {
        let start = block(start)?;
        fits(Place::At(start), blocks)?;
        self.plan.free(Extent::new(start, blocks));
        Ok(())
    }

    /// Counts that something happened, such as `write_hits`, `rmw` or `evicted`, or what a counter of the layer's own
    /// counts.
    #[pyo3(signature = (event, times = 1))]
    fn count(&mut self, event: &str, times: u32) -> PyResult<()> {
        let own = (0..self.counters.len()).map(|number| Event::Own(number as u8));
        let known = || Event::SHARED.into_iter().chain(own.clone());
        let name = |event: Event| event.name(self.counters);
        let Some(event) = known().find(|known| name(*known) == event) else {
            let names = known().map(name).collect::<Vec<_>>().join(", ");
            return Err(PyValueError::new_err(format!("no event is called {event}; known are {names}")));
        };
        self.plan.count(event, times);
        Ok(())
    }
}

fn reason(name: &str) -> PyResult<Why> {
    let known = Why::ALL.into_iter().find(|why| why.name() == name);
    let names = || Why::ALL.map(Why::name).join(", ");
    known.ok_or_else(|| PyValueError::new_err(format!("{name} is no reason; known are {}", names())))
}

/// Whether `blocks` blocks from there have numbers.
fn fits(place: Place, blocks: u32) -> PyResult<()> {
    let end = match place {
        Place::Host(at) => u64::from(at) + u64::from(blocks) <= u64::from(u32::MAX),
        Place::At(pba) => pba.block() + u64::from(blocks) < 1 << 56,
        Place::Zero | Place::Lost => true,
    };
    if end { Ok(()) } else { Err(PyValueError::new_err(format!("{blocks} blocks from {place:?} are too many"))) }
}
