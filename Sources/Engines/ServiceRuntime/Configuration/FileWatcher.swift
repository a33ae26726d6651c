import CountersignConcurrency
public import CountersignTelemetry
import Dispatch
import Synchronization

/// Applies a configuration file, or a directory of them, again whenever it has changed, until it is stopped.
///
/// The whole file has to be valid; otherwise everything stays as it is, of a directory what the wrong file stands for,
/// which is logged and counted once for each content and reason. A refused file is tried again at each look: the fault may lie in another file that it names.
public final class FileWatcher: Service {
  /// Outcome of a look at the file.
  public enum Outcome: String, Sendable {
    /// The file is unchanged since the last look or the start.
    case unchanged
    /// The file has changed, and its content is in force. It may mean the same.
    case taken
    /// The file has changed, and is invalid or unreadable.
    case refused
  }

  private struct Last {
    /// Content that was applied. `nil` before the first look: the process may have waited for hours since it read the
    /// file at its start, so that one applies it again. `nil` after a refusal too: a part may have been applied.
    var taken: [UInt8]?
    var refused: [UInt8]?
    var problem: String?
  }

  /// Pause between two looks: an operator who changes the file waits for it, and a few kilobytes are cheap to read.
  static let interval = Duration.seconds(5)

  public let name: String
  private let path: String
  private let refusal: StaticString
  private let log: Logger
  private let reads: MetricFamily<Counter>
  private let isCurrent: Gauge?
  private let sleep: @Sendable (Duration) async throws -> Void
  private let read: @Sendable () throws(ConfigurationError) -> [UInt8]
  private let apply: @Sendable () throws(ConfigurationError) -> Bool
  private let last = Mutex(Last())
  private let shown = Mutex<String?>(nil)
  private let stopRequested = Latch()
  private let queue = DispatchQueue(label: "countersign.file-watcher")

  /// - Parameters:
  ///   - path: the file, or the directory.
  ///   - name: name of the service.
  ///   - refusal: message that is logged when the file is refused.
  ///   - metrics: `reads` counts by the label `outcome` how often a change was taken, or refused. `isCurrent` is 1 while
  ///     the content in force is that of the file, and 0 while the file is refused.
  ///   - sleep: waits between two looks; a parameter for tests.
  ///   - read: reads what may change: the file unless given.
  ///   - apply: reads the file and puts its content in force; returns whether that means anything else than before.
  public init(
    _ path: String, name: String, refusal: StaticString, log: Logger,
    metrics: (reads: MetricFamily<Counter>, isCurrent: Gauge?),
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    read: (@Sendable () throws(ConfigurationError) -> [UInt8])? = nil,
    apply: @escaping @Sendable () throws(ConfigurationError) -> Bool
  ) {
    self.name = name
    self.path = path
    self.refusal = refusal
    self.log = log
    (reads, isCurrent) = metrics
    self.sleep = sleep
    if let read {
      self.read = read
    } else {
      self.read = { () throws(ConfigurationError) in try ConfigurationFile.read(path) }
    }
    self.apply = apply
    for outcome in [Outcome.taken, .refused] { _ = reads.with(outcome.rawValue) }
    isCurrent?.set(1)
  }

  // MARK: Service

  public func run() async {
    await stopRequested.cancelingWhenOpen { await self.watch() }
  }

  public func stop() async {
    stopRequested.open()
  }

  private func watch() async {
    while !Task.isCancelled {
      do { try await sleep(Self.interval) } catch { return }
      await withCheckedContinuation { done in
        queue.async {
          self.look()
          done.resume()
        }
      }
    }
  }

  // MARK: Looking

  /// The problem of the last look, if any.
  public var problem: String? { shown.withLock { $0 } }

  /// Checks the file once. Blocks.
  @discardableResult
  public func look() -> Outcome {
    last.withLock { last in
      var content: [UInt8]?
      do throws(ConfigurationError) {
        let bytes = try read()
        content = bytes
        let outcome = bytes == last.taken ? .unchanged : try take(isFirst: last.taken == nil)
        last = Last(taken: bytes)
        shown.withLock { $0 = nil }
        isCurrent?.set(1)
        return outcome
      } catch {
        note(error.description, of: content, in: &last)
        return .refused
      }
    }
  }

  private func take(isFirst: Bool) throws(ConfigurationError) -> Outcome {
    let isNew = try apply()
    guard isNew || !isFirst else { return .unchanged }
    reads.with(Outcome.taken.rawValue).increment()
    return .taken
  }

  private func note(_ problem: String, of content: [UInt8]?, in last: inout Last) {
    isCurrent?.set(0)
    shown.withLock { $0 = problem }
    last.taken = nil
    guard last.problem != problem || last.refused != content else { return }
    (last.refused, last.problem) = (content, problem)
    reads.with(Outcome.refused.rawValue).increment()
    log.error(refusal, ["file": path, .error: problem])
  }
}
