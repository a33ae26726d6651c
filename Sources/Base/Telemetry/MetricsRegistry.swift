import Synchronization

/// The metrics of a process, and their text for Prometheus.
///
/// Names are `countersign_<thing>_<unit>`, counters end in `_total`, durations are in seconds. Asking for a name again
/// gives the same metric; asking for it with another kind or other labels is a mistake of the program and stops it.
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

  /// A gauge that is read when the metrics are. Asking again for the name replaces what is read.
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

/// A metric with labels: one series for each set of label values.
public final class MetricFamily<Series: MetricSeries>: Sendable {
  /// The metric's name.
  public let name: String
  /// The names of its labels.
  public let labels: [String]
  let help: String
  private let make: @Sendable () -> Series
  private let series = Mutex<[[String]: Series]>([:])

  /// The label value of the series that takes what does not fit, see ``MetricsRegistry/maxSeries``.
  public static var overflowValue: String { "other" }

  init(name: String, help: String, labels: [String], make: @escaping @Sendable () -> Series) {
    self.name = name
    self.help = help
    self.labels = labels
    self.make = make
  }

  /// The series of these label values. It is made when there is none. Hot paths keep it instead of asking again.
  ///
  /// - Parameter values: one for each label, in the order of `labels`. A label's values must be few: never an ID or a
  ///   phone number. When there are ``MetricsRegistry/maxSeries`` series, new values go to one whose values are all
  ///   `other`.
  public func with(_ values: String...) -> Series {
    precondition(values.count == labels.count, "\(name) has the labels \(labels)")
    return series.withLock { series in
      if let known = series[values] { return known }
      let isFull = series.count >= MetricsRegistry.maxSeries
      let key = isFull ? labels.map { _ in Self.overflowValue } : values
      if let known = series[key] { return known }
      let new = make()
      series[key] = new
      return new
    }
  }

  func sorted() -> [(values: [String], series: Series)] {
    series.withLock { $0 }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
      .map { (values: $0.key, series: $0.value) }
  }
}

/// Pieces of the Prometheus text format, version 0.0.4.
enum MetricText {
  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    if let whole = Int64(exactly: value) { return String(whole) }
    return String(value)
  }

  static func escapedHelp(_ text: String) -> String {
    escaped(text, quotes: false)
  }

  static func escapedLabel(_ text: String) -> String {
    escaped(text, quotes: true)
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// `[a-zA-Z_][a-zA-Z0-9_]*`. A metric's name may also hold colons, which are reserved for recording rules.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return text.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x5F
    }
  }
}

/// The labels of a series as they are written: `{lane="twilio"}`, or nothing.
struct LabelText {
  private let pairs: String

  init(names: [String], values: [String]) {
    pairs = zip(names, values).map { "\($0)=\"\(MetricText.escapedLabel($1))\"" }.joined(separator: ",")
  }

  var text: String { pairs.isEmpty ? "" : "{\(pairs)}" }

  func adding(_ name: String, _ value: String) -> String {
    pairs.isEmpty ? "{\(name)=\"\(value)\"}" : "{\(pairs),\(name)=\"\(value)\"}"
  }
}
