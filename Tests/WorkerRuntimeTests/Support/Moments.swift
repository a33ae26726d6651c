import Telemetry

/// The time at which tests begin.
let start = UnixTime(seconds: 1_782_907_200)
