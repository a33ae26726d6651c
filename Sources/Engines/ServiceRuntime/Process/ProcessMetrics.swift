import CountersignTelemetry

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The metrics that Prometheus expects of every process.
enum ProcessMetrics {
  static func register(in metrics: MetricsRegistry, process: ProcessDescription) {
    let startedAt = SystemClock().now().fractionalSeconds
    metrics.gauge("countersign_build_info", "The version that runs.", labels: ["process", "version"])
      .with(process.name, process.version).set(1)
    metrics.gauge("process_start_time_seconds", "When the process started, seconds since 1970.") { startedAt }
    metrics.counter("process_cpu_seconds_total", "CPU time of user and system.") { cpuSeconds }
    #if os(Linux)
      metrics.gauge("process_resident_memory_bytes", "Resident memory.") { residentBytes ?? .nan }
    #endif
  }

  private static var cpuSeconds: Double {
    var time = timespec()
    guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return .nan }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  #if os(Linux)
    /// The second number of `/proc/self/statm`, in pages (proc(5)).
    private static var residentBytes: Double? {
      do {
        let text = String(decoding: try LocalFile.read("/proc/self/statm", maxBytes: 4096).bytes, as: UTF8.self)
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Double(fields[1]) else { return nil }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
      } catch {
        return nil
      }
    }
  #endif
}
