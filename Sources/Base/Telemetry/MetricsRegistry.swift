import Synchronization

/// The metrics of a process, and their text for Prometheus.
///
/// Names are `countersign_<thing>_<unit>`, counters end in `_total`, durations are in seconds. Asking for a name again gives
/// the same metric; asking for it with another kind or other labels is a mistake of the program and stops it.
public final class MetricsRegistry: Sendable {
  /// Series of one metric. Labels are meant to have few values; this bounds memory when one does not.
  public static let maxSeries = 1000

  private enum Entry: Sendable {
    case counter(MetricFamily<Counter>)
    case gauge(MetricFamily<Gauge>)
    case histogram(MetricFamily<Histogram>)
    case computed(help: String, type: String, read: @Sendable () -> Double)
  }

  private let entries = Mutex<[String: Entry]>([:])

  public init() {}

  /// A counter without labels.
  public func counter(_ name: String, _ help: String) -> Counter {
    counter(name, help, labels: []).with()
  }

  /// A counter for each set of label values.
  public func counter(_ name: String, _ help: String, labels: [String]) -> MetricFamily<Counter> {
    let entry = entry(name, labels) { .counter(MetricFamily(name: name, help: help, labels: labels) { Counter() }) }
    guard case .counter(let family) = entry, family.labels == labels else { preconditionFailure(Self.clash(name)) }
    return family
  }

  /// A gauge without labels.
  public func gauge(_ name: String, _ help: String) -> Gauge {
    gauge(name, help, labels: []).with()
  }

  /// A gauge for each set of label values.
  public func gauge(_ name: String, _ help: String, labels: [String]) -> MetricFamily<Gauge> {
    let entry = entry(name, labels) { .gauge(MetricFamily(name: name, help: help, labels: labels) { Gauge() }) }
    guard case .gauge(let family) = entry, family.labels == labels else { preconditionFailure(Self.clash(name)) }
    return family
  }

  /// A gauge that is read when the metrics are; asking again for the name replaces what is read.
  public func gauge(_ name: String, _ help: String, read: @escaping @Sendable () -> Double) {
    replace(name, .computed(help: help, type: "gauge", read: read))
  }

  /// A counter that is kept elsewhere and is read when the metrics are.
  public func counter(_ name: String, _ help: String, read: @escaping @Sendable () -> Double) {
    replace(name, .computed(help: help, type: "counter", read: read))
  }

  /// A histogram without labels.
  /// - Parameter buckets: ascending upper bounds.
  public func histogram(_ name: String, _ help: String, buckets: [Double] = Histogram.defaultBuckets) -> Histogram {
    histogram(name, help, labels: [], buckets: buckets).with()
  }

  /// A histogram for each set of label values.
  /// - Parameter buckets: ascending upper bounds.
  public func histogram(
    _ name: String, _ help: String, labels: [String], buckets: [Double] = Histogram.defaultBuckets
  ) -> MetricFamily<Histogram> {
    precondition(zip(buckets, buckets.dropFirst()).allSatisfy { $0 < $1 }, "the buckets of \(name) must ascend")
    let entry = entry(name, labels) {
      .histogram(MetricFamily(name: name, help: help, labels: labels) { Histogram(bounds: buckets) })
    }
    guard case .histogram(let family) = entry, family.labels == labels else { preconditionFailure(Self.clash(name)) }
    return family
  }

  /// All metrics in the Prometheus text format, version 0.0.4, sorted by name.
  public func render() -> String {
    var text = ""
    for (name, entry) in entries.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
      switch entry {
      case .counter(let family): Self.render(family, type: "counter", into: &text)
      case .gauge(let family): Self.render(family, type: "gauge", into: &text)
      case .histogram(let family): Self.render(family, type: "histogram", into: &text)
      case .computed(let help, let type, let read):
        Self.renderHeader(name, help, type, into: &text)
        text += "\(name) \(MetricText.number(read()))\n"
      }
    }
    return text
  }

  private func entry(_ name: String, _ labels: [String], make: () -> Entry) -> Entry {
    precondition(MetricText.isName(name), "\(name) is not a metric's name")
    precondition(labels.allSatisfy { MetricText.isName($0) && $0 != "le" }, "\(name) has a label that may not be one")
    return entries.withLock { entries in
      if let known = entries[name] { return known }
      let new = make()
      entries[name] = new
      return new
    }
  }

  private func replace(_ name: String, _ entry: Entry) {
    precondition(MetricText.isName(name), "\(name) is not a metric's name")
    entries.withLock { $0[name] = entry }
  }

  private static func clash(_ name: String) -> String {
    "the metric \(name) exists already with another kind or other labels"
  }

  private static func render(_ family: MetricFamily<some RenderedSeries>, type: String, into text: inout String) {
    renderHeader(family.name, family.help, type, into: &text)
    for (values, series) in family.sorted() {
      series.render(family.name, LabelText(names: family.labels, values: values), into: &text)
    }
  }

  private static func renderHeader(_ name: String, _ help: String, _ type: String, into text: inout String) {
    text += "# HELP \(name) \(MetricText.escapedHelp(help))\n# TYPE \(name) \(type)\n"
  }
}
