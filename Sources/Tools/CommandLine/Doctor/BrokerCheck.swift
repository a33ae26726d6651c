enum BrokerCheck {
  /// First version whose quorum queues have a time to live and dead-letter at least once.
  static let minVersion = [3, 10]

  static func version(_ text: String) -> Finding {
    let numbers = text.split(separator: ".").prefix(2).compactMap { Int($0) }
    if numbers.count == 2, minVersion.lexicographicallyPrecedes(numbers) || numbers == minVersion {
      return Finding("broker", .ok, "RabbitMQ \(text)")
    }
    return Finding("broker", .failed, "RabbitMQ \(text) is too old", hint: "upgrade it to 3.10 or later")
  }

  /// An alarm stops every publisher of the whole cluster.
  static func alarms(node: String, memory: Bool, disk: Bool) -> [Finding] {
    [
      (memory, "memory", "rabbitmq-diagnostics memory_breakdown; shorten the longest queues or give it more"),
      (disk, "disk space", "free space on its disk"),
    ].filter(\.0).map { _, what, hint in
      Finding("broker \(node)", .failed, "is short of \(what) and accepts no messages", hint: hint, about: .broker)
    }
  }

  static func topology(_ report: TopologyReport) -> [Finding] {
    var findings = [topology(report.differences)]
    if let unchecked = report.unchecked {
      findings.append(
        Finding(
          "users of the broker", .skipped, unchecked,
          hint: "now and then, run countersign topology check as an administrator of the broker"))
    }
    return findings + report.notes.map { Finding("users of the broker", .note, $0) }
  }

  private static func topology(_ differences: [TopologyDifference]) -> Finding {
    guard let first = differences.first else { return Finding("topology", .ok, "complete") }
    let more = differences.count == 1 ? "" : ", and \(differences.count - 1) more"
    return Finding(
      "topology", .failed, "\(first.description)\(more)", hint: "countersign topology check, then topology apply",
      about: .topology)
  }
}
