//! Imbrex for Python: the module behind the package `imbrex`, whose sources are in `python/imbrex`.
//!
//! Long work runs on threads without the interpreter's lock (`waiting`), requests are read where they lie (`requests`),
//! and a class of Python is a layer like any other (`layer`). Runs are specified and made as by the program, so
//! options, messages and results are the program's.

mod checks;
mod error;
mod layer;
mod listing;
mod page;
mod requests;
mod runs;
mod table;
mod values;
mod waiting;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", py.get_type::<error::Error>())?;
    module.add("ConfigError", py.get_type::<error::ConfigError>())?;
    module.add("TraceError", py.get_type::<error::TraceError>())?;
    module.add("LayerError", py.get_type::<error::LayerError>())?;
    module.add("Corrupt", py.get_type::<error::Corrupt>())?;
    module.add_class::<requests::PyRequests>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<page::Drawn>()?;
    module.add_class::<layer::PyPlan>()?;
    module.add_class::<layer::PySpace>()?;
    module.add_class::<layer::PyZones>()?;
    module.add_class::<layer::PyStep>()?;
    module.add_class::<layer::PyPressure>()?;
    module.add_class::<layer::Host>()?;
    module.add_class::<layer::Ram>()?;
    module.add("ZERO", Bound::new(py, layer::Constant::Zero)?)?;
    module.add("LOST", Bound::new(py, layer::Constant::Lost)?)?;
    module.add_class::<layer::Constant>()?;
    module.add_class::<layer::Map>()?;
    module.add_class::<layer::Unmap>()?;
    module.add_class::<layer::Lost>()?;
    module.add_class::<layer::UnitRole>()?;
    module.add_class::<layer::Note>()?;
    module.add_function(wrap_pyfunction!(runs::run, module)?)?;
    module.add_function(wrap_pyfunction!(page::page, module)?)?;
    module.add_function(wrap_pyfunction!(checks::trace_stat, module)?)?;
    module.add_function(wrap_pyfunction!(checks::validate, module)?)?;
    module.add_function(wrap_pyfunction!(checks::explore, module)?)?;
    module.add_function(wrap_pyfunction!(listing::layers_known, module)?)?;
    module.add_function(wrap_pyfunction!(listing::drives_known, module)?)?;
    module.add_function(wrap_pyfunction!(listing::workloads_known, module)?)?;
    Ok(())
}
