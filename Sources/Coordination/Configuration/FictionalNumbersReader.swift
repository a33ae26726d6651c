import FoundationEssentials
import ServiceRuntime
import Synchronization
import Telemetry

/// Reads the fictional numbers again when the configuration file has changed. All of the file has to be valid; otherwise everything stays as
/// it is. Nothing else of it is taken before a restart.
final class FictionalNumbersReader: Sendable {
  /// What a look at the file came to.
  enum Outcome: String, Sendable {
    /// It is as it was.
    case unchanged
    /// It has changed, and its numbers are in force; they may be the same.
    case taken
    /// It has changed, and is wrong or cannot be read.
    case refused
  }

  private let file: String
  private let environment: [String: String]
  private let numbers: FictionalNumbers
  private let log: Logger
  private let reloads: MetricFamily<Counter>
  private let last: Mutex<Data?>

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
    last = Mutex(Self.content(file))
  }

  /// Looks at the file once. Blocks.
  @discardableResult
  func look() -> Outcome {
    let content = Self.content(file)
    let isNew = last.withLock { last in
      defer { last = content }
      return last != content
    }
    guard isNew else { return .unchanged }
    let outcome = read()
    reloads.with(outcome.rawValue).increment()
    return outcome
  }

  private func read() -> Outcome {
    do throws(ConfigurationError) {
      let loaded = try CoordinatorConfiguration.load(file: file, environment: environment)
      guard numbers.take(loaded.content.rules) else { return .taken }
      for warning in loaded.warnings where warning.place.contains("fictionalNumbers") {
        log.warning("configuration warning", ["place": warning.place, .mend: warning.text])
      }
      log.info("fictional numbers changed", ["config": file])
      return .taken
    } catch {
      log.error(
        "the configuration file has changed and is wrong: fictional numbers stay as they are",
        ["config": file, .error: error.description])
      return .refused
    }
  }

  /// The bytes of the file; `nil` while it cannot be read, which is told when it is read as a configuration.
  private static func content(_ file: String) -> Data? {
    try? Data(contentsOf: URL(filePath: file))
  }
}
