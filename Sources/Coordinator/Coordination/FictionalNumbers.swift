import CountersignTelemetry
import Projects
import ServiceRuntime

/// The numbers may change while the process runs.
final class FictionalNumbers: Sendable {
  /// Fixed codes by app and number in E.164.
  typealias Table = [String: [String: String]]

  private let own: LiveValue<Table>
  private let projectApps: LiveValue<ProjectApps>?

  init(_ rules: CoordinatorRules) {
    own = LiveValue(Self.table(rules.apps))
    projectApps = rules.projectApps
  }

  /// `nil` for a real number.
  func code(of number: String, app: String) -> String? {
    own.current[app]?[number] ?? projectApps?.current.all[app]?.fictionalNumbers[number]
  }

  var all: Table {
    Self.table(projectApps?.current.all ?? [:]).merging(own.current) { _, own in own }
  }

  /// New apps of the configuration stay unknown until a restart, and those that left it keep their codes: else starts
  /// of their numbers would send SMS.
  func take(_ rules: CoordinatorRules) -> Bool {
    let gone = own.current.filter { rules.apps[$0.key] == nil }
    return own.take(Self.table(rules.apps).merging(gone) { new, _ in new })
  }

  private static func table(_ apps: [String: AppProfile]) -> Table {
    apps.compactMapValues { $0.fictionalNumbers.isEmpty ? nil : $0.fictionalNumbers }
  }
}

extension FileWatcher {
  /// Keeps the fictional numbers at what the configuration file says. Its other keys take effect only at a restart.
  static func fictionalNumbers(
    _ file: String, environment: [String: String], _ numbers: FictionalNumbers, log: Logger, metrics: MetricsRegistry
  ) -> FileWatcher {
    FileWatcher(
      file, name: "fictional numbers",
      refusal: "the configuration file has changed and is wrong: fictional numbers stay as they are", log: log,
      metrics: (
        metrics.counter(
          "countersign_fictional_numbers_reads_total",
          "Changes of the configuration file from which fictional numbers were taken, or that were refused.",
          labels: ["outcome"]), nil
      )
    ) { () throws(ConfigurationError) in
      let loaded = try CoordinatorConfiguration.load(file: file, environment: environment)
      guard numbers.take(loaded.content.rules) else { return false }
      for warning in loaded.warnings where warning.place.contains("fictionalNumbers") {
        log.warning("configuration warning", ["place": warning.place, .hint: warning.text])
      }
      log.info("fictional numbers changed", ["file": file])
      return true
    }
  }
}

enum FictionalCode {
  /// Whether an attacker would try it early: a repeated digit or group of up to three, or digits that count up or down.
  static func isGuessable(_ code: String) -> Bool {
    let digits = code.utf8.map { Int($0) }
    guard digits.count > 1 else { return true }
    for period in 1...3 where digits.count > period {
      if digits.indices.dropFirst(period).allSatisfy({ digits[$0] == digits[$0 - period] }) { return true }
    }
    let steps = zip(digits.dropFirst(), digits).map { ($0 - $1 + 10) % 10 }
    return Set(steps).count == 1 && (steps[0] == 1 || steps[0] == 9)
  }
}
