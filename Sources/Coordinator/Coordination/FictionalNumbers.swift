import CountersignTelemetry
import FoundationEssentials
import ServiceRuntime
import Synchronization

/// Fictional numbers of the apps, which may change while the process runs.
final class FictionalNumbers: Sendable {
  /// Fixed codes by app and number in E.164.
  typealias Table = [String: [String: String]]

  private let current: Mutex<Table>

  init(_ rules: CoordinatorRules) {
    current = Mutex(Self.table(rules))
  }

  /// The fixed code of a number; `nil` for a real number.
  func code(of number: String, app: String) -> String? {
    current.withLock { $0[app]?[number] }
  }

  /// Applies the numbers of a reloaded configuration. New apps stay unknown until a restart.
  /// - Returns: whether they differ.
  func take(_ rules: CoordinatorRules) -> Bool {
    let new = Self.table(rules)
    return current.withLock { current in
      defer { current = new }
      return current != new
    }
  }

  private static func table(_ rules: CoordinatorRules) -> Table {
    rules.apps.compactMapValues { $0.fictionalNumbers.isEmpty ? nil : $0.fictionalNumbers }
  }
}

/// Reloads the fictional numbers when the configuration file has changed. The whole file has to be valid; otherwise
/// everything stays as it is. Other keys take effect only at a restart.
final class FictionalNumbersReader: Sendable {
  /// Outcome of a look at the file.
  enum Outcome: String, Sendable {
    /// The file is unchanged since the last look or the start.
    case unchanged
    /// The file has changed, and its numbers are in force; they may be the same.
    case taken
    /// The file has changed, and is invalid or unreadable. The next look tries again: the fault may lie in another file
    /// that it names.
    case refused
  }

  private let file: String
  private let environment: [String: String]
  private let numbers: FictionalNumbers
  private let log: Logger
  private let reloads: MetricFamily<Counter>
  private let last = Mutex(Last())

  private struct Last {
    /// Content that was applied; `nil` before the first look. The process may have waited for hours since it read its
    /// configuration, so the file is read again.
    var taken: Data?
    /// Content that was refused since, and the reason. Logged once.
    var refused: Data?
    var problem: String?
  }

  init(
    file: String, environment: [String: String], numbers: FictionalNumbers, log: Logger, metrics: MetricsRegistry
  ) {
    self.file = file
    self.environment = environment
    self.numbers = numbers
    self.log = log
    reloads = metrics.counter(
      "countersign_fictional_numbers_reads_total",
      "Changes of the configuration file from which fictional numbers were taken, or that were refused.",
      labels: ["outcome"])
    for outcome in [Outcome.taken, .refused] { _ = reloads.with(outcome.rawValue) }
  }

  /// Checks the file once. Blocks.
  @discardableResult
  func look() -> Outcome {
    last.withLock { last in
      let content = Self.content(file)
      if let content, content == last.taken {
        last = Last(taken: content)
        return .unchanged
      }
      do throws(ConfigurationError) {
        let outcome = try take(isFirst: last.taken == nil)
        last = Last(taken: content)
        return outcome
      } catch {
        note(error.description, of: content, in: &last)
        return .refused
      }
    }
  }

  private func take(isFirst: Bool) throws(ConfigurationError) -> Outcome {
    let loaded = try CoordinatorConfiguration.load(file: file, environment: environment)
    let isNew = numbers.take(loaded.content.rules)
    guard isNew || !isFirst else { return .unchanged }
    reloads.with(Outcome.taken.rawValue).increment()
    guard isNew else { return .taken }
    for warning in loaded.warnings where warning.place.contains("fictionalNumbers") {
      log.warning("configuration warning", ["place": warning.place, .hint: warning.text])
    }
    log.info("fictional numbers changed", ["config": file])
    return .taken
  }

  private func note(_ problem: String, of content: Data?, in last: inout Last) {
    guard last.problem != problem || last.refused != content else { return }
    (last.refused, last.problem) = (content, problem)
    reloads.with(Outcome.refused.rawValue).increment()
    log.error(
      "the configuration file has changed and is wrong: fictional numbers stay as they are",
      ["config": file, .error: problem])
  }

  /// The bytes of the file; `nil` while it is unreadable: reading it as a configuration says why.
  private static func content(_ file: String) -> Data? { try? Data(contentsOf: URL(filePath: file)) }
}

/// Fixed codes of fictional numbers.
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
