import CountersignTelemetry

let start = UnixTime(seconds: 1_782_907_200)

/// A moment of the other clock, for what only waits.
let begin = MonotonicTime(nanoseconds: 3_600_000_000_000)
