//! The clock of the device and what holds it down, through NVML where its library is there.

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::{Device, Nvml};

use super::super::timing::State;

/// The library; on some machines only the name with its version is there.
pub fn open() -> Result<Nvml, String> {
    let versioned = || Nvml::builder().lib_path("libnvidia-ml.so.1".as_ref()).init();
    versioned().or_else(|_| Nvml::init()).map_err(|e| e.to_string())
}

/// Reads the state of one device.
pub struct Watch<'a>(Option<Device<'a>>);

impl<'a> Watch<'a> {
    /// `bus` is where the device sits, such as `0000:0e:00.0`.
    ///
    /// # Errors
    /// Why states will not be read; the watch that reads none is given as well.
    pub fn new(nvml: &'a Result<Nvml, String>, bus: &str) -> (Watch<'a>, Option<String>) {
        let device = match nvml {
            Ok(nvml) => nvml.device_by_pci_bus_id(bus).map_err(|e| e.to_string()),
            Err(why) => Err(why.clone()),
        };
        let device = device.and_then(|d| d.clock_info(Clock::SM).map(|_| d).map_err(|e| e.to_string()));
        match device {
            Ok(device) => (Watch(Some(device)), None),
            Err(why) => (Watch(None), Some(format!("clocks were not read: {why}"))),
        }
    }

    /// The state now; `None` where it cannot be read.
    pub fn state(&self) -> Option<State> {
        let device = self.0.as_ref()?;
        let clock = device.clock_info(Clock::SM).ok()?;
        let held = ThrottleReasons::HW_SLOWDOWN
            | ThrottleReasons::HW_THERMAL_SLOWDOWN
            | ThrottleReasons::SW_THERMAL_SLOWDOWN
            | ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN;
        let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::empty());
        Some(State { clock, throttled: reasons.intersects(held) })
    }

    /// How many processes compute on the device, where the driver says so.
    pub fn processes(&self) -> Option<usize> {
        self.0.as_ref()?.running_compute_processes().ok().map(|p| p.len())
    }
}
