//! An object of Python as a layer.

use std::sync::Arc;

use imbrex::block::{Access, Extent, Lba, Pba, Request};
use imbrex::event::Counter;
use imbrex::layer::{
    Condition, Corrupt, Facts, Freed, JournalFacts, Occupancy, Pressure, Standing, Step, TranslationLayer, UnitReport,
    Unsafe, Unwritten, Violation, Write,
};
use imbrex::plan::{Plan, Record};
use pyo3::exceptions::{PyAssertionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::plan::PyPlan;
use super::raised::Raised;
use super::record;
use super::vocabulary::{PyPressure, PyStep};
use crate::error;

/// A layer whose methods are Python's. Once one of them has raised an exception, nothing more is asked of it, and every
/// answer is what ends the run soonest.
pub struct Adapter {
    name: &'static str,
    object: Py<PyAny>,
    plan: Py<PyPlan>,
    raised: Arc<Raised>,
    facts: Facts,
    capacity: u64,
    own: Own,
}

/// Methods that its class has written itself: the others are not called.
struct Own {
    announce: bool,
    read: bool,
    trim: bool,
    flush: bool,
    freed: bool,
    occupancy: bool,
    idle_after_ns: bool,
}

/// What a layer states when it is made.
fn facts(object: &Bound<'_, PyAny>) -> PyResult<Facts> {
    let said = object.call_method0("facts")?;
    let unwritten: String = said.getattr("unwritten")?.extract()?;
    let loses_flushed: Option<String> = said.getattr("loses_flushed")?.extract()?;
    Ok(Facts {
        ram_blocks: said.getattr("ram_blocks")?.extract()?,
        unwritten: match unwritten.as_str() {
            "zeros" => Unwritten::Zeros,
            "old-content" => Unwritten::OldContent,
            other => {
                let problem = format!("unwritten is {other:?}, neither 'zeros' nor 'old-content'");
                return Err(PyValueError::new_err(problem));
            }
        },
        looks_at_waiting: said.getattr("looks_at_waiting")?.extract()?,
        journal: JournalFacts {
            records: said.getattr("records")?.extract()?,
            redo_blocks: said.getattr("redo_blocks")?.extract()?,
            ..JournalFacts::default()
        },
        loses_flushed: loses_flushed.map(Unsafe),
        ..Facts::default()
    })
}

impl Own {
    fn of(class: &Bound<'_, PyType>, base: &Bound<'_, PyAny>) -> PyResult<Self> {
        let is_own = |name: &str| Ok::<_, PyErr>(!class.getattr(name)?.is(&base.getattr(name)?));
        Ok(Self {
            announce: is_own("announce")?,
            read: is_own("read")?,
            trim: is_own("trim")?,
            flush: is_own("flush")?,
            freed: is_own("freed")?,
            occupancy: is_own("occupancy")?,
            idle_after_ns: is_own("idle_after_ns")?,
        })
    }
}

impl Adapter {
    /// The layer that `object` is, of a class that is made from `base`.
    pub fn new(
        name: &'static str,
        object: &Bound<'_, PyAny>,
        base: &Bound<'_, PyAny>,
        counters: &'static [Counter],
        raised: Arc<Raised>,
    ) -> PyResult<Self> {
        Ok(Self {
            name,
            plan: Py::new(object.py(), PyPlan::of(counters))?,
            raised,
            capacity: object.call_method0("capacity")?.extract()?,
            facts: Facts { counters, ..facts(object)? },
            own: Own::of(&object.get_type(), base)?,
            object: object.clone().unbind(),
        })
    }

    /// What `call` gives, or `otherwise` if something was raised, now or before.
    fn asked<T>(
        &self,
        method: &'static str,
        otherwise: T,
        call: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, PyPlan>) -> PyResult<T>,
    ) -> T {
        if self.raised.is_some() {
            return otherwise;
        }
        Python::attach(|py| match call(self.object.bind(py), self.plan.bind(py)) {
            Ok(answer) => answer,
            Err(e) => {
                self.raised.keep(format!("layer {}, {method}", self.name), e);
                otherwise
            }
        })
    }

    /// Calls a method with a plan, and takes over what it appended to the plan.
    fn planned<T>(
        &self,
        method: &'static str,
        plan: &mut Plan,
        otherwise: T,
        call: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, PyPlan>) -> PyResult<T>,
    ) -> T {
        self.asked(method, otherwise, |object, own| {
            let answer = call(object, own)?;
            own.borrow_mut().drain_to(plan);
            Ok(answer)
        })
    }
}

/// An answer that is a number of blocks.
fn taken(method: &str, answer: &Bound<'_, PyAny>, least: u32, most: u32) -> PyResult<u32> {
    let blocks: u32 = answer.extract()?;
    if (least..=most).contains(&blocks) {
        return Ok(blocks);
    }
    Err(PyValueError::new_err(format!("{method} answers {blocks}, which is not from {least} to {most}")))
}

fn word(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Trim => "trim",
    }
}

impl TranslationLayer for Adapter {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn standing(&self) -> Standing {
        let occupancy: Option<(u64, u64)> = match self.own.occupancy {
            true => self.asked("occupancy", None, |object, _| object.call_method0("occupancy")?.extract()),
            false => None,
        };
        Standing { occupancy: occupancy.map(|(used, blocks)| Occupancy { used, blocks }), ..Standing::default() }
    }

    fn idle_after_ns(&self) -> u64 {
        match self.own.idle_after_ns {
            true => self.asked("idle_after_ns", 0, |object, _| object.call_method0("idle_after_ns")?.extract()),
            false => 0,
        }
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        self.planned("locate", plan, (), |object, own| {
            object.call_method1("locate", (at.start.0, at.blocks, own)).map(drop)
        });
    }

    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        if !self.own.read {
            return self.locate(at, plan);
        }
        self.planned("read", plan, (), |object, own| {
            object.call_method1("read", (at.start.0, at.blocks, own)).map(drop)
        });
    }

    fn write(&mut self, Write { at, request_bytes }: Write, plan: &mut Plan) -> u32 {
        if let Some(bytes) = request_bytes.filter(|_| self.own.announce) {
            self.asked("announce", (), |object, _| {
                object.call_method1("announce", (at.start.0, at.blocks, bytes)).map(drop)
            });
        }
        self.planned("write", plan, at.blocks, |object, own| {
            taken("write", &object.call_method1("write", (at.start.0, at.blocks, own))?, 0, at.blocks)
        })
    }

    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        if !self.own.trim {
            return at.blocks;
        }
        self.planned("trim", plan, at.blocks, |object, own| {
            taken("trim", &object.call_method1("trim", (at.start.0, at.blocks, own))?, 1, at.blocks)
        })
    }

    fn flush(&mut self, plan: &mut Plan) -> Step {
        if !self.own.flush {
            return Step::Done;
        }
        self.planned("flush", plan, Step::Done, |object, own| {
            Ok(object.call_method1("flush", (own,))?.extract::<PyStep>()?.into())
        })
    }

    fn clean(&mut self, why: Pressure, waiting: &[Request], plan: &mut Plan) -> Step {
        self.planned("clean", plan, Step::Nothing, |object, own| {
            let of = |request: &Request| (word(request.access), request.at.start.0, request.at.blocks);
            let waiting: Vec<_> = waiting.iter().filter(|_| self.facts.looks_at_waiting).map(of).collect();
            let step = object.call_method1("clean", (PyPressure::from(why), waiting, own))?;
            Ok(step.extract::<PyStep>()?.into())
        })
    }

    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        if self.own.freed {
            self.asked("freed", (), |object, _| {
                object.call_method1("freed", (space.start.block(), space.blocks)).map(drop)
            });
        }
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        let raised = || Err(Corrupt("the layer raised an exception".to_owned()));
        self.asked("apply", raised(), |object, _| {
            let py = object.py();
            let Some(record) = record::object(py, record)? else {
                return Ok(Err(Corrupt(format!("{record:?} is about a device that the layer has not"))));
            };
            corrupt(object.call_method1("apply", (record,)).map(drop), py)
        })
    }

    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        let raised = || Err(Corrupt("the layer raised an exception".to_owned()));
        self.planned("recovered", plan, raised(), |object, own| {
            let states = units.devices.get(usize::from(Pba::DISK)).map(Vec::as_slice).unwrap_or_default();
            let states: Vec<_> = states.iter().map(|state| (condition(state.condition), state.pointer)).collect();
            corrupt(object.call_method1("recovered", (states, own)).map(drop), object.py())
        })
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        self.planned("checkpoint", plan, None, |object, own| object.call_method1("checkpoint", (from, own))?.extract())
    }

    fn check(&self) -> Result<(), Violation> {
        let raised = || Err(Violation("the layer raised an exception".to_owned()));
        self.asked("check", raised(), |object, _| match object.call_method0("check") {
            Err(e) if e.is_instance_of::<PyAssertionError>(object.py()) => {
                Ok(Err(Violation(e.value(object.py()).to_string())))
            }
            checked => checked.map(|_| Ok(())),
        })
    }
}

/// A contradiction that the layer has found is no mistake of its own.
fn corrupt(answer: PyResult<()>, py: Python<'_>) -> PyResult<Result<(), Corrupt>> {
    match answer {
        Err(e) if e.is_instance_of::<error::Corrupt>(py) => Ok(Err(Corrupt(e.value(py).to_string()))),
        answer => answer.map(Ok),
    }
}

fn condition(condition: Condition) -> &'static str {
    match condition {
        Condition::Conventional => "conventional",
        Condition::Sequential => "sequential",
        Condition::ReadOnly => "read-only",
        Condition::Offline => "offline",
        Condition::Inactive => "inactive",
    }
}
