import CountersignTelemetry
import Testing

@Suite struct MetricsTests {
  let registry = MetricsRegistry()

  @Test func `Renders every kind`() {
    registry.counter("countersign_jobs_total", "Jobs.", labels: ["lane"]).with("a\"b\\\n").increment(by: 2)
    registry.gauge("countersign_up", "Whether\nup.").set(0.5)
    let histogram = registry.histogram("countersign_call_seconds", "Calls.", buckets: [0.1, 1])
    histogram.observe(.milliseconds(50))
    histogram.observe(1.0)
    histogram.observe(7)
    registry.gauge("countersign_depth", "Depth.") { 3 }
    #expect(
      registry.render() == """
        # HELP countersign_call_seconds Calls.
        # TYPE countersign_call_seconds histogram
        countersign_call_seconds_bucket{le="0.1"} 1
        countersign_call_seconds_bucket{le="1"} 2
        countersign_call_seconds_bucket{le="+Inf"} 3
        countersign_call_seconds_sum 8.05
        countersign_call_seconds_count 3
        # HELP countersign_depth Depth.
        # TYPE countersign_depth gauge
        countersign_depth 3
        # HELP countersign_jobs_total Jobs.
        # TYPE countersign_jobs_total counter
        countersign_jobs_total{lane="a\\"b\\\\\\n"} 2
        # HELP countersign_up Whether\\nup.
        # TYPE countersign_up gauge
        countersign_up 0.5

        """)
  }

  @Test func `The same name is the same metric`() {
    registry.counter("a_total", "A.").increment()
    registry.counter("a_total", "A.").increment()
    #expect(registry.counter("a_total", "A.").value == 2)
  }

  @Test func `A gauge goes up and down`() {
    let gauge = registry.gauge("g", "G.")
    gauge.add(2.5)
    gauge.add(-1)
    #expect(gauge.value == 1.5)
  }

  @Test func `Too many series go to one`() {
    let family = registry.counter("a_total", "A.", labels: ["id", "kind"])
    for number in 0..<(MetricsRegistry.maxSeries + 50) { family.with(String(number), "x").increment() }
    #expect(family.with("other", "other").value == 50)
    #expect(registry.render().split(separator: "\n").count == MetricsRegistry.maxSeries + 3)
  }

  @Test func `Counts from many tasks add up`() async {
    let counter = registry.counter("a_total", "A.")
    let gauge = registry.gauge("g", "G.")
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1000 {
            counter.increment()
            gauge.add(1)
          }
        }
      }
    }
    #expect(counter.value == 8000)
    #expect(gauge.value == 8000)
  }

  @Test func `A clash stops the program`() async {
    await #expect(processExitsWith: .failure) {
      let registry = MetricsRegistry()
      _ = registry.counter("a", "A.")
      _ = registry.gauge("a", "A.")
    }
  }
}
